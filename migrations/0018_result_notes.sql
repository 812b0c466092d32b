-- Notes under a card also say that an approved call is done, or that it ended without running.
alter table reminders drop constraint reminders_kind;
alter table reminders add constraint reminders_kind
  check (kind in ('reminder', 'escalation', 'unknown', 'failed', 'succeeded', 'lapsed', 'revoked'));
