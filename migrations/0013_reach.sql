-- Cards in direct messages, each a delivery of its own; and the channels that are asked where nobody could be reached.

alter table deliveries
  -- Whom a direct message is for, and by which ids the platform knows them; null: the card is in the channel's chat.
  -- The chat of a direct message is empty until the platform has named it.
  add column person_id text,
  add column person_name text,
  add column person_ids jsonb,
  add constraint deliveries_person check
    ((person_id is null) = (person_name is null) and (person_id is null) = (person_ids is null)
     and (person_id is not null or chat <> ''));
alter table deliveries drop constraint deliveries_once;
alter table deliveries add constraint deliveries_once
  unique nulls not distinct (confirmation_id, channel_id, person_id);

-- When the fallback channels were asked; null: they were not.
alter table confirmations add column rerouted_at timestamptz;

create function confirmations_reroute_guard() returns trigger language plpgsql as $$
begin
  if new.rerouted_at is distinct from old.rerouted_at and (old.rerouted_at is not null or old.status <> 'pending') then
    raise exception 'confirmation %: the fallback is asked once, and only while it is pending', old.id;
  end if;
  return new;
end $$;

create trigger confirmations_reroute_guard before update of rerouted_at on confirmations
  for each row execute function confirmations_reroute_guard();

-- A note under the card says that the call failed: a changed card makes no sound.
alter table reminders drop constraint reminders_kind;
alter table reminders add constraint reminders_kind check (kind in ('reminder', 'escalation', 'unknown', 'failed'));
