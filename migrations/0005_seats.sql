-- A vote fills a seat: the voter's own, or that of somebody whom they stand in for. Delegates, reminders and
-- escalation become active at a moment, once, and that they did is on the request.

alter table votes add column seat_id text;
alter table votes add column seat_name text;
update votes set seat_id = person_id, seat_name = person_name;
alter table votes alter column seat_id set not null;
alter table votes alter column seat_name set not null;
-- However many people could vote for a seat, one of them fills it.
alter table votes add constraint votes_seat_once unique (confirmation_id, seat_id, verdict);

alter table confirmations
  -- The next moment at which a delegate, a reminder or an escalation is due; null: none is.
  add column next_step_at timestamptz,
  add column reminded_at timestamptz,
  add column escalated_at timestamptz,
  -- Ids of the people whose delegates have been seated.
  add column delegated_seats text[] not null default '{}';
create index confirmations_next_step on confirmations (next_step_at)
  where status = 'pending' and next_step_at is not null;

create function confirmations_seats_guard() returns trigger language plpgsql as $$
begin
  if (old.reminded_at is not null and new.reminded_at is distinct from old.reminded_at)
    or (old.escalated_at is not null and new.escalated_at is distinct from old.escalated_at)
    or not (new.delegated_seats @> old.delegated_seats) then
    raise exception 'confirmation %: what became active stays so', old.id;
  end if;
  if old.status <> 'pending' and (new.reminded_at, new.escalated_at, new.delegated_seats)
     is distinct from (old.reminded_at, old.escalated_at, old.delegated_seats) then
    raise exception 'confirmation %: % is final, no seat can be added', old.id, old.status;
  end if;
  return new;
end $$;

create trigger confirmations_seats_guard before update on confirmations
  for each row execute function confirmations_seats_guard();

-- Notes under a card in its chat. One is sent at most once: from `sending` on it may stand there, and is not repeated.
create table reminders (
  id uuid constraint reminders_pk primary key,
  delivery_id uuid not null constraint reminders_delivery references deliveries (id),
  kind text not null constraint reminders_kind check (kind in ('reminder', 'escalation')),
  state text not null default 'queued'
    constraint reminders_state check (state in ('queued', 'sending', 'sent', 'uncertain', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  error text,
  at timestamptz not null,
  constraint reminders_once unique (delivery_id, kind)
);
create index reminders_due on reminders (next_attempt_at) where state = 'queued';
