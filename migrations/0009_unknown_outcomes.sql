-- An outcome that nobody knows is settled by a person, or run again under a new confirmation; and a request whose call
-- was asked about again with other arguments is closed in favour of the new one. Both ways one request takes the place
-- of another.

alter table confirmations
  -- Whether the tool was declared safe to run again under the same Idempotency-Key when the request was made.
  add column tool_idempotent boolean not null default false,
  -- The request whose place this one takes; never changes.
  add column supersedes uuid constraint confirmations_supersedes references confirmations (id),
  -- The request that takes this one's place. Of an unknown outcome it goes back to null where that one ends unused.
  add column superseded_by uuid constraint confirmations_superseded_by references confirmations (id)
    deferrable initially deferred,
  -- Of an unknown outcome: from when the old attempt can no longer send, and whether cards say that this has come.
  add column settle_from timestamptz,
  add column settle_open boolean not null default false,
  -- Who settled it, or asked to run it again, and what they said of the latter.
  add column settled_by_id text,
  add column settled_by_name text,
  add column rerun_reason text;

-- Outcomes from before this was kept: whoever reported them was done.
update confirmations set settle_from = execution_at, settle_open = true where execution_status = 'unknown';

alter table confirmations
  add constraint confirmations_settle_from check (execution_status <> 'unknown' or settle_from is not null),
  add constraint confirmations_settled_by check
    ((settled_by_id is null) = (settled_by_name is null)
     and (settled_by_id is null or execution_status in ('succeeded', 'failed', 'unknown'))),
  -- Running again is asked for by a person, in favour of a new request, while nobody knows the outcome.
  add constraint confirmations_rerun check
    ((rerun_reason is null or (settled_by_id is not null and superseded_by is not null and execution_status = 'unknown'))
     and (execution_status <> 'unknown' or (settled_by_id is null) = (rerun_reason is null))),
  add constraint confirmations_not_itself check (supersedes <> id and superseded_by <> id);

-- At most one request at a time takes the place of another; the older ones of an unknown outcome have ended unused.
create index confirmations_supersedes_open on confirmations (supersedes) where supersedes is not null;
create index confirmations_to_settle on confirmations (settle_from)
  where execution_status = 'unknown' and not settle_open;
create index confirmations_to_rerun on confirmations (executable_from)
  where supersedes is not null and run_id is not null and execution_status = 'unclaimed';
-- What an outside agent calls the same call.
create index confirmations_same_call on confirmations (api_key_id, session, call_id)
  where api_key_id is not null and session is not null and call_id is not null
    and (status = 'pending' or execution_status = 'unclaimed');

-- A changed card makes no sound: a note under it says that somebody has to look.
alter table reminders drop constraint reminders_kind;
alter table reminders add constraint reminders_kind check (kind in ('reminder', 'escalation', 'unknown'));

create function confirmations_supersede_guard() returns trigger language plpgsql as $$
begin
  if (new.supersedes, new.tool_idempotent) is distinct from (old.supersedes, old.tool_idempotent) then
    raise exception 'confirmation %: what was asked cannot change', old.id;
  end if;
  if new.superseded_by is distinct from old.superseded_by and not coalesce(
       -- Closed, or its unused grant revoked, in favour of a newer request.
       (old.superseded_by is null and old.status = 'pending' and new.decision_code = 'superseded')
    or (old.superseded_by is null and new.execution_status = 'revoked' and old.execution_status = 'unclaimed')
       -- Run again, and back where that came to nothing.
    or (old.superseded_by is null and new.execution_status = 'unknown' and old.execution_status = 'unknown')
    or (new.superseded_by is null and new.execution_status = 'unknown' and old.execution_status = 'unknown'), false
  ) then
    raise exception 'confirmation %: % cannot take its place', old.id, new.superseded_by;
  end if;
  if old.superseded_by is not null and new.execution_status <> old.execution_status then
    raise exception 'confirmation %: % has taken its place', old.id, old.superseded_by;
  end if;
  return new;
end $$;

create trigger confirmations_supersede_guard before update on confirmations
  for each row execute function confirmations_supersede_guard();
