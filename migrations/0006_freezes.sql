-- Freezes stop every claim of matching tools; a revocation says who and why; a cool-off shows on the card while it lasts.

create table freezes (
  id uuid constraint freezes_pk primary key,
  -- Globs over full tool names.
  tools text[] not null constraint freezes_tools check (cardinality(tools) > 0),
  reason text not null,
  started_at timestamptz not null,
  started_by_id text not null,
  started_by_name text not null,
  end_requested_at timestamptz,
  end_requested_by_id text,
  end_requested_by_name text,
  ended_at timestamptz,
  ended_by_id text,
  ended_by_name text,
  -- When the cards of open requests have to be drawn again because of it; null where they show what is.
  cards_due_at timestamptz,
  constraint freezes_end_requested check
    ((end_requested_at is null) = (end_requested_by_id is null)
     and (end_requested_at is null) = (end_requested_by_name is null)),
  constraint freezes_ended check
    ((ended_at is null) = (ended_by_id is null) and (ended_at is null) = (ended_by_name is null)),
  -- One person freezes, two people unfreeze.
  constraint freezes_ended_by_two check
    (ended_at is null or (end_requested_at is not null and ended_by_id <> end_requested_by_id))
);
create index freezes_active on freezes (started_at) where ended_at is null;
create index freezes_cards_due on freezes (cards_due_at) where cards_due_at is not null;

create function freezes_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'freezes are kept: % cannot be deleted', old.id;
  end if;
  if (new.id, new.tools, new.reason, new.started_at, new.started_by_id, new.started_by_name)
     is distinct from
     (old.id, old.tools, old.reason, old.started_at, old.started_by_id, old.started_by_name) then
    raise exception 'freeze %: what was frozen cannot change', old.id;
  end if;
  if old.ended_at is not null
     and (new.end_requested_at, new.end_requested_by_id, new.ended_at, new.ended_by_id)
     is distinct from
     (old.end_requested_at, old.end_requested_by_id, old.ended_at, old.ended_by_id) then
    raise exception 'freeze %: its end is final', old.id;
  end if;
  return new;
end $$;

create trigger freezes_guard before update or delete on freezes
  for each row execute function freezes_guard();

-- The globs of every freeze that has not ended, in the row that each claim locks: one read says what a claim must know.
alter table gate_controls add column frozen_tools text[] not null default '{}';

alter table confirmations add column cooling_off boolean not null default false;
alter table confirmations add column revoked_by_id text;
alter table confirmations add column revoked_by_name text;
alter table confirmations add column revoke_reason text;
alter table confirmations add constraint confirmations_revoked check
  ((execution_status = 'revoked' or (revoked_by_id is null and revoke_reason is null))
   and (revoked_by_id is null) = (revoked_by_name is null));
create index confirmations_cooling_off on confirmations (executable_from)
  where cooling_off and execution_status = 'unclaimed';
