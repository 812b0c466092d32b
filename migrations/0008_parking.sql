-- A run that only waits is parked: rows, and nothing in any process. Whatever ends its wait wakes it in the same
-- transaction, by the triggers below; a run that is open, not parked and held by nobody is there for any process to take.

alter table runs add column parked_at timestamptz;
-- When its wait ended; null again once a process has taken it.
alter table runs add column woken_at timestamptz;
alter table runs add constraint runs_parked check
  (parked_at is null or (status = 'waiting' and lease_owner is null and finished_at is null));
alter table runs add constraint runs_woken check
  (woken_at is null or (parked_at is null and lease_owner is null and finished_at is null));
-- What a poll looks through; parked runs are not in it, however many there are.
drop index runs_open;
create index runs_open on runs (lease_owner) where finished_at is null and parked_at is null;
create index runs_woken on runs (woken_at) where woken_at is not null;

-- When the run noted what people had decided; a worker that takes up the call notes it only where none has.
alter table invocations add column decided_at timestamptz;
update invocations set decided_at = clock_timestamp()
  where confirmation_id is not null and not (phase = 'waiting' and status = 'waiting');

-- A decision, the end of a grant or of its cool-off, a settlement. Whoever parks a run locks these rows first, so one
-- of the two sees the other. A parked run has no writer of its own: whoever ends a wait never waits for one here.
create function confirmations_wake_run() returns trigger language plpgsql as $$
begin
  update runs set parked_at = null, woken_at = clock_timestamp() where id = new.run_id and parked_at is not null;
  return null;
end $$;

create trigger confirmations_wake_run after update on confirmations
  for each row
  when (new.run_id is not null and (new.status, new.execution_status, new.cooling_off)
        is distinct from (old.status, old.execution_status, old.cooling_off))
  execute function confirmations_wake_run();

-- The end of a delegate's run.
create function runs_wake_parent() returns trigger language plpgsql as $$
begin
  update runs set parked_at = null, woken_at = clock_timestamp() where id = new.parent_run and parked_at is not null;
  return null;
end $$;

create trigger runs_wake_parent after update of finished_at on runs
  for each row
  when (new.parent_run is not null and old.finished_at is null and new.finished_at is not null)
  execute function runs_wake_parent();

-- The sweeper asks by time alone: grants that wait cost it nothing.
create index confirmations_to_lapse on confirmations (execute_by) where execution_status = 'unclaimed';
create index confirmations_claimed on confirmations (send_by) where execution_status = 'claimed';
drop index if exists confirmations_open_grant;
-- A call that is taken up looks for the request that the gate stored for it.
create index confirmations_invocation on confirmations (invocation_id) where invocation_id is not null;
