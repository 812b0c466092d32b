-- A run's time limit leaves out what it waits for people. The database keeps that time, wherever the status is written.
alter table runs
  add column waited_ms bigint not null default 0,
  add column waiting_since timestamptz;
update runs set waiting_since = clock_timestamp() where status = 'waiting';

create function runs_count_waiting() returns trigger language plpgsql as $$
begin
  if new.status = 'waiting' then
    new.waiting_since := clock_timestamp();
  elsif old.waiting_since is not null then
    new.waited_ms := old.waited_ms
      + (extract(epoch from clock_timestamp() - old.waiting_since) * 1000)::bigint;
    new.waiting_since := null;
  end if;
  return new;
end
$$;
create trigger runs_count_waiting before update of status on runs
  for each row when (old.status is distinct from new.status)
  execute function runs_count_waiting();

-- A plan may come from the model, after the run has begun.
alter table runs drop constraint runs_plan;
alter table runs add constraint runs_plan check (executor = 'dag' or plan is null);

-- What a session's start gives may be about the person it is for: nobody else's runs get it. Empty: no person.
alter table sessions add column person text not null default '';
update sessions set person = runs.requester_id
  from runs where runs.id = sessions.asked_by_run and runs.requester_id is not null;
alter table sessions drop constraint sessions_pk;
alter table sessions add constraint sessions_pk primary key (agent, session, person);
