-- The record. Each event is chained twice: within its own chain (a request, a run, the system) in the transaction
-- that it describes, and across the whole log by the one sequencer, afterwards.

create table audit_chains (
  chain text constraint audit_chains_pk primary key,
  length integer not null,
  head text not null
);

-- Numbers the queue for the sequencer. Never cached by a session: within a chain the order must be that of the commits.
create sequence audit_insert_order cache 1;

create table audit_events (
  id uuid constraint audit_events_pk primary key,
  at timestamptz not null,
  kind text not null,
  confirmation_id uuid,
  run_id uuid,
  actor_type text not null constraint audit_events_actor check (actor_type in ('person', 'agent', 'key', 'system')),
  actor_id text not null,
  actor_name text not null,
  data jsonb not null,
  chain text not null,
  request_seq integer not null,
  request_prev text not null,
  request_hash text not null,
  canonical text not null,
  insert_order bigint default nextval('audit_insert_order'),
  seq bigint constraint audit_events_seq unique,
  prev_hash text,
  hash text,
  constraint audit_events_chain unique (chain, request_seq),
  constraint audit_events_sequenced check
    ((seq is null) = (hash is null) and (seq is null) = (prev_hash is null) and (seq is null) = (insert_order is not null))
);
create index audit_events_confirmation on audit_events (confirmation_id) where confirmation_id is not null;
create index audit_events_run on audit_events (run_id) where run_id is not null;
create index audit_events_unsequenced on audit_events (insert_order) where seq is null;
-- Exactly one closing event per request, whatever the code does.
create unique index audit_events_one_decision on audit_events (confirmation_id) where kind = 'confirmation.decided';

create table audit_head (
  singleton boolean constraint audit_head_pk primary key default true constraint audit_head_one check (singleton),
  seq bigint not null default 0,
  hash text not null default ''
);
insert into audit_head default values;

create function audit_events_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.seq is null and new.seq is not null
     and (to_jsonb(new) - array['seq', 'prev_hash', 'hash', 'insert_order'])
         = (to_jsonb(old) - array['seq', 'prev_hash', 'hash', 'insert_order']) then
    return new;
  end if;
  raise exception 'audit events are append-only: % refused', tg_op;
end $$;

create trigger audit_events_guard before update or delete on audit_events
  for each row execute function audit_events_guard();
create trigger audit_events_no_truncate before truncate on audit_events
  for each statement execute function audit_events_guard();
