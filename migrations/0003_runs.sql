-- Runs, as they can be taken up again after any crash: the messages and the invocations are the truth, the lease says
-- which process works on a run now, and the fencing token keeps one that lost its lease from writing.

-- One lease a process: keeping ten thousand waiting runs costs as much as keeping one.
create table run_workers (
  owner text constraint run_workers_pk primary key,
  lease_until timestamptz not null
);

create table runs (
  id uuid constraint runs_pk primary key,
  organization text not null,
  agent text not null,
  executor text not null constraint runs_executor check (executor in ('react', 'dag')),
  status text not null constraint runs_status check
    (status in ('running', 'waiting', 'succeeded', 'failed', 'cancelled')),
  input text not null,
  plan jsonb,
  output text,
  error_code text,
  error_message text,
  session text not null,
  requester_id text,
  requester_name text,
  requester_named_by_agent boolean not null,
  evaluation boolean not null,
  api_key_id text,
  parent_run uuid constraint runs_parent references runs (id),
  parent_invocation uuid,
  depth integer not null default 0,
  -- A node whose outcome nobody knows holds what depends on it.
  holding boolean not null default false,
  event_seq integer not null default 0,
  cancel_requested_at timestamptz,
  -- Times that a worker met a fault and left the run to the next one.
  faults integer not null default 0,
  -- The process in `run_workers` that works on it; null where nobody does.
  lease_owner text,
  fencing_token bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  constraint runs_finished check ((status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)),
  constraint runs_error check ((error_code is null) = (error_message is null)),
  constraint runs_plan check ((executor = 'dag') = (plan is not null))
);
-- One delegate's run per call of `call_agent`, whatever is repeated.
create unique index runs_once_per_invocation on runs (parent_invocation) where parent_invocation is not null;
create index runs_children on runs (parent_run) where parent_run is not null;
create index runs_open on runs (lease_owner) where finished_at is null;
create index runs_to_cancel on runs (lease_owner) where cancel_requested_at is not null and finished_at is null;

create table run_messages (
  run_id uuid not null constraint run_messages_run references runs (id),
  seq integer not null,
  message jsonb not null,
  at timestamptz not null default clock_timestamp(),
  constraint run_messages_pk primary key (run_id, seq)
);

create table invocations (
  id uuid constraint invocations_pk primary key,
  run_id uuid not null constraint invocations_run references runs (id),
  -- Where the call stands: the model's turn and the place in it, or the node of the plan.
  turn integer,
  place integer,
  node text,
  call_id text,
  tool text not null,
  phase text not null constraint invocations_phase check
    (phase in ('proposed', 'waiting', 'executing', 'executed', 'settled')),
  status text not null constraint invocations_status check
    (status in ('waiting', 'blocked', 'skipped', 'stubbed', 'running', 'succeeded', 'failed', 'unknown')),
  args jsonb not null constraint invocations_args_object check (jsonb_typeof(args) = 'object'),
  -- Digest of what was asked for, before any hook rewrote it.
  proposed_digest text,
  confirmation_id uuid,
  -- JSON text as the tool gave it: jsonb would re-order its keys. The view is what the model saw of it.
  result text,
  view text,
  error_code text,
  error_message text,
  side_effects jsonb not null default '[]',
  created_at timestamptz not null default clock_timestamp(),
  executing_at timestamptz,
  finished_at timestamptz,
  constraint invocations_place check ((turn is null) = (place is null) and (turn is null) <> (node is null)),
  constraint invocations_once_per_call unique (run_id, turn, place),
  constraint invocations_once_per_node unique (run_id, node),
  constraint invocations_settled check ((phase = 'settled') = (finished_at is not null)),
  constraint invocations_error check ((error_code is null) = (error_message is null))
);

create table run_events (
  run_id uuid not null constraint run_events_run references runs (id),
  seq integer not null,
  kind text not null,
  data jsonb not null,
  at timestamptz not null default clock_timestamp(),
  constraint run_events_pk primary key (run_id, seq)
);

-- What the SessionStart hooks of an agent gave a session, once; null while somebody is asking them.
create table sessions (
  agent text not null,
  session text not null,
  context jsonb,
  asked_by_run uuid not null,
  asking_until timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  constraint sessions_pk primary key (agent, session)
);
