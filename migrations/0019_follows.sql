-- A request that is made after a person rejected a call of the same tool, in the same run or in the same session of the
-- same outside agent, says so: which one, when, by whom and why, as it stood when the request was made.
alter table confirmations add column follows jsonb
  constraint confirmations_follows check
    (follows is null or coalesce(jsonb_typeof(follows -> 'id') = 'string' and jsonb_typeof(follows -> 'at') = 'string'
      and jsonb_typeof(follows #> '{by,id}') = 'string', false));

-- The latest rejection is the first entry of its place in the index, however many there are.
create index confirmations_rejected_in_run on confirmations (run_id, tool, decided_at desc)
  where status = 'rejected' and run_id is not null;
create index confirmations_rejected_in_session on confirmations (agent, session, tool, decided_at desc)
  where status = 'rejected' and run_id is null and session is not null;

-- As before, and `follows` is a part of what was asked.
create or replace function confirmations_supersede_guard() returns trigger language plpgsql as $$
begin
  if (new.supersedes, new.tool_idempotent, new.follows)
     is distinct from (old.supersedes, old.tool_idempotent, old.follows) then
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
