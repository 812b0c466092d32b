-- A channel looks for its own due cards by kind: under load the cards of other channels, and changes that wait for
-- their turn, were read through again at every look for a new one.

drop index deliveries_due;
create index deliveries_to_send on deliveries (channel_id, next_attempt_at) where state in ('queued', 'uncertain');
create index deliveries_to_change on deliveries (channel_id, next_attempt_at)
  where state = 'sent' and (shown_version < wanted_version or reissue or settle_at is not null);
