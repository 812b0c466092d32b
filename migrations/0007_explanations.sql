-- Why a request was made under its rule, and what each voter had before them.

-- The rules that were tried and who could approve, as the configuration stood when the request was made.
create table explanations (
  confirmation_id uuid constraint explanations_pk primary key
    constraint explanations_confirmation references confirmations (id),
  explanation jsonb not null constraint explanations_object check (jsonb_typeof(explanation) = 'object')
);

create function explanations_guard() returns trigger language plpgsql as $$
begin
  raise exception 'explanations are kept as they were written: % cannot be changed', old.confirmation_id;
end $$;

create trigger explanations_guard before update or delete on explanations
  for each row execute function explanations_guard();

-- One version can be drawn differently after a change of the configuration (its time zone, its address): each drawing
-- that went out is kept.
alter table rendered_cards drop constraint rendered_cards_pk;
alter table rendered_cards add constraint rendered_cards_pk primary key (delivery_id, version, digest);

-- The card from which a vote was cast; none for a vote by the API, and for cards that do not say which version they are.
alter table votes
  add column seen_delivery_id uuid,
  add column seen_version integer,
  add column seen_digest text,
  add column seen_locale text,
  add column seen_at timestamptz,
  add constraint votes_seen_card foreign key (seen_delivery_id, seen_version, seen_digest)
    references rendered_cards (delivery_id, version, digest),
  add constraint votes_seen_whole check
    (num_nonnulls(seen_delivery_id, seen_version, seen_digest, seen_locale, seen_at) in (0, 5));
