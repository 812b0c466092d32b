-- What a chat shows of a request, beyond one message drawn once: cards are re-issued before the platform stops changing
-- them, written again where a change may have arrived late, and drawn with less where their content is refused.

alter table deliveries
  -- Whether the message may show buttons: those cards change first once their request is closed.
  add column has_buttons boolean not null default true,
  -- Names the sending of the newest message to the platform, so that a re-issued card is not taken for the old one.
  add column issue_id uuid,
  -- When the newest message went out, or the earliest that it can have; null: none did.
  add column issued_at timestamptz,
  -- The card is older than the platform is trusted to change: its messages are closed and a new one is sent.
  add column reissue boolean not null default false,
  -- Messages that say that the card has moved; a tap on one is refused as stale.
  add column retired_message_ids text[] not null default '{}',
  -- From then on the card is written once more: a change whose result nobody knows may arrive after a later one.
  add column settle_at timestamptz,
  -- How much the platform lets the card show.
  add column card_view text not null default 'whole'
    constraint deliveries_card_view check (card_view in ('whole', 'decisive-only', 'withheld'));

update deliveries set issue_id = id, issued_at = case when cardinality(message_ids) > 0 then created_at end;
alter table deliveries alter column issue_id set not null;

drop index deliveries_due;
create index deliveries_due on deliveries (next_attempt_at)
  where state in ('queued', 'uncertain') or shown_version < wanted_version or reissue or settle_at is not null;
-- When a channel last took a card: what was given up on before that is tried again.
create index deliveries_taken on deliveries (channel_id, at) where state = 'sent' and error is null;
-- Cards of these still have to change one day, however old they are.
create index confirmations_unsettled on confirmations (id) where execution_status = 'unknown';
