-- Which refusals are on the record: each attempt once by its key, so that somebody who taps an old card again and
-- again does not make the request's chain grow with every tap. A row stands beside each such event, and is kept with it.
create table refused_attempts (
  -- The request's id; for an attempt that names none that exists, the hour (UTC) in which it was made.
  subject text not null,
  -- The person, the API key, or the account that nobody is known by.
  who text not null,
  act text not null constraint refused_attempts_act check (act in ('vote', 'revoke', 'settle')),
  code text not null,
  -- The channel's id, or `api`.
  surface text not null,
  -- Of a callback that is not of the card on record: where it says it comes from; empty otherwise.
  place text not null,
  constraint refused_attempts_pk primary key (subject, who, act, code, surface, place)
);
