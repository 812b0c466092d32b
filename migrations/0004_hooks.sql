-- What the shipped hooks keep: the operators' log of calls, and the counts behind the rate limit.

create table connector_calls (
  id uuid constraint connector_calls_pk primary key,
  at timestamptz not null default clock_timestamp(),
  organization text not null,
  connector text,
  tool text not null,
  agent text not null,
  person text,
  session text,
  run text,
  status text not null,
  code text,
  duration_ms integer constraint connector_calls_duration check (duration_ms >= 0),
  args_digest text,
  confirmation text
);
create index connector_calls_newest on connector_calls (at desc);
create index connector_calls_connector on connector_calls (connector, at desc);

-- One row a key: the times of the calls that count, oldest first, and how the last question was answered.
create table rate_windows (
  key text constraint rate_windows_pk primary key,
  taken timestamptz[] not null,
  allowed boolean not null
);
