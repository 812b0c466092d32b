-- The gate's records: a request, the votes on it, its cards in the chats, and the switches an operator holds.

create table confirmations (
  id uuid constraint confirmations_pk primary key,
  organization text not null,
  status text not null,
  version integer not null default 1,

  tool text not null,
  tool_version text,
  tool_timeout_ms integer,
  tool_writes boolean not null,
  connector text,
  args jsonb not null constraint confirmations_args_object check (jsonb_typeof(args) = 'object'),
  args_digest text not null,
  verification_code text not null,
  decisive_fields jsonb not null,
  summary text,
  agent text not null,
  session text,
  call_id text,
  requester_id text not null,
  requester_name text not null,
  requester_named_by_agent boolean not null,
  agent_owner text,
  run_id uuid,
  parent_run_id uuid,
  invocation_id uuid,
  api_key_id text,
  idempotency_key text,
  body_digest text,
  metadata jsonb not null,
  policy jsonb not null,
  approvers jsonb not null,
  created_at timestamptz not null,
  decide_by timestamptz not null,

  decided_at timestamptz,
  decided_by_id text,
  decided_by_name text,
  decision_reason text,
  decision_code text,

  execution_status text not null default 'none',
  executable_from timestamptz,
  execute_by timestamptz,
  claimed_at timestamptz,
  send_by timestamptz,
  execution_at timestamptz,
  execution_detail text,
  execution_source text,

  constraint confirmations_status check
    (status in ('pending', 'approved', 'rejected', 'expired', 'cancelled', 'undeliverable')),
  constraint confirmations_execution_status check
    (execution_status in ('none', 'unclaimed', 'claimed', 'succeeded', 'failed', 'unknown', 'lapsed', 'revoked')),
  constraint confirmations_decided check
    ((status = 'pending') = (decided_at is null) and (decided_at is null) = (decision_code is null)),
  constraint confirmations_grant_behind_approval check
    ((status = 'approved') = (execution_status <> 'none')
     and (status = 'approved') = (execute_by is not null)
     and (status = 'approved') = (executable_from is not null)),
  constraint confirmations_claim check
    ((execution_status in ('claimed', 'succeeded', 'failed', 'unknown')) = (claimed_at is not null)
     and (claimed_at is null) = (send_by is null)),
  constraint confirmations_deadline check (decide_by > created_at)
);

create unique index confirmations_idempotency on confirmations (api_key_id, idempotency_key)
  where idempotency_key is not null;
create index confirmations_newest on confirmations (created_at desc, id desc);
create index confirmations_pending on confirmations (decide_by) where status = 'pending';
create index confirmations_open_grant on confirmations (execution_status) where execution_status in ('unclaimed', 'claimed');

create table votes (
  id uuid constraint votes_pk primary key,
  confirmation_id uuid not null constraint votes_confirmation references confirmations (id),
  person_id text not null,
  person_name text not null,
  verdict text not null constraint votes_verdict check (verdict in ('approve', 'reject')),
  reason text,
  channel text not null,
  args_digest text not null,
  at timestamptz not null,
  constraint votes_once unique (confirmation_id, person_id, verdict)
);

create table deliveries (
  id uuid constraint deliveries_pk primary key,
  confirmation_id uuid not null constraint deliveries_confirmation references confirmations (id),
  channel_id text not null,
  provider text not null,
  app text not null,
  tenant text not null,
  chat text not null,
  token text not null constraint deliveries_token unique,
  state text not null default 'queued'
    constraint deliveries_state check (state in ('queued', 'sent', 'uncertain', 'failed')),
  message_ids text[] not null default '{}',
  -- Tries in a row that did not succeed; only the back-off grows with it.
  attempts integer not null default 0,
  -- Sends that began and of which no message id is known: each may stand in the chat.
  unconfirmed_sends integer not null default 0,
  shown_version integer not null default 0,
  wanted_version integer not null default 1,
  decisive_shown boolean not null default true,
  next_attempt_at timestamptz not null,
  lease_until timestamptz,
  error text,
  at timestamptz not null,
  created_at timestamptz not null,
  constraint deliveries_once unique (confirmation_id, channel_id),
  constraint deliveries_message check (state <> 'sent' or cardinality(message_ids) > 0)
);
create index deliveries_due on deliveries (next_attempt_at)
  where state in ('queued', 'uncertain') or shown_version < wanted_version;
create index deliveries_first_message on deliveries ((message_ids[1]));

-- What people saw: each version of a card as it went out, with its digest.
create table rendered_cards (
  delivery_id uuid not null constraint rendered_cards_delivery references deliveries (id),
  version integer not null,
  locale text not null,
  digest text not null,
  payload text not null,
  at timestamptz not null,
  constraint rendered_cards_pk primary key (delivery_id, version)
);

-- One row that every claim locks FOR SHARE, so that a switch and a claim cannot pass each other.
create table gate_controls (
  singleton boolean constraint gate_controls_pk primary key default true constraint gate_controls_one check (singleton),
  read_only_organization boolean not null default false,
  read_only_connectors text[] not null default '{}',
  changed_at timestamptz not null default clock_timestamp()
);
insert into gate_controls default values;

-- The small secrets and marks that the service keeps for itself (the key of the verification code).
create table service_secrets (
  name text constraint service_secrets_pk primary key,
  value text not null
);

create function confirmations_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'confirmations are kept: % cannot be deleted', old.id;
  end if;
  if (new.id, new.organization, new.tool, new.tool_version, new.args, new.args_digest, new.verification_code,
      new.agent, new.requester_id, new.agent_owner, new.run_id, new.invocation_id, new.api_key_id,
      new.idempotency_key, new.policy, new.approvers, new.created_at, new.decide_by)
     is distinct from
     (old.id, old.organization, old.tool, old.tool_version, old.args, old.args_digest, old.verification_code,
      old.agent, old.requester_id, old.agent_owner, old.run_id, old.invocation_id, old.api_key_id,
      old.idempotency_key, old.policy, old.approvers, old.created_at, old.decide_by) then
    raise exception 'confirmation %: what was asked cannot change', old.id;
  end if;
  if new.status <> old.status then
    if old.status <> 'pending' then
      raise exception 'confirmation %: % is final, cannot become %', old.id, old.status, new.status;
    end if;
    if new.status = 'approved' and new.execution_status <> 'unclaimed' then
      raise exception 'confirmation %: an approval starts unclaimed', old.id;
    end if;
  elsif (new.decided_at, new.decided_by_id, new.decision_reason, new.decision_code, new.execute_by, new.executable_from)
     is distinct from
     (old.decided_at, old.decided_by_id, old.decision_reason, old.decision_code, old.execute_by, old.executable_from) then
    raise exception 'confirmation %: a decision is never rewritten', old.id;
  end if;
  if new.execution_status <> old.execution_status and not (
       (old.execution_status = 'none' and new.execution_status = 'unclaimed')
    or (old.execution_status = 'unclaimed' and new.execution_status in ('claimed', 'lapsed', 'revoked'))
    or (old.execution_status = 'claimed' and new.execution_status in ('succeeded', 'failed', 'unknown'))
    or (old.execution_status = 'unknown' and new.execution_status in ('succeeded', 'failed'))
  ) then
    raise exception 'confirmation %: execution % cannot become %', old.id, old.execution_status, new.execution_status;
  end if;
  return new;
end $$;

create trigger confirmations_guard before update or delete on confirmations
  for each row execute function confirmations_guard();
