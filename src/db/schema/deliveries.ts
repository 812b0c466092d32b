import { boolean, integer, jsonb, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import type { CardView } from '../../channel/card-source.ts';
import type { ChannelId, ConfirmationId, DeliveryId, PersonId } from '../../ids.ts';
import type { Locale } from '../../locale.ts';

/** The cards of a request, one row a channel, and one a person who is written to there. `migrations/0001_confirmations.sql` holds constraints and indexes. */
export const deliveries = pgTable('deliveries', {
  id: uuid('id').$type<DeliveryId>().primaryKey(),
  confirmationId: uuid('confirmation_id').$type<ConfirmationId>().notNull(),
  channelId: text('channel_id').$type<ChannelId>().notNull(),
  provider: text('provider').notNull(),
  app: text('app').notNull(),
  tenant: text('tenant').notNull(),
  chat: text('chat').notNull(),
  /** Of a direct message, all three; otherwise none. */
  personId: text('person_id').$type<PersonId>(),
  personName: text('person_name'),
  personIds: jsonb('person_ids').$type<Readonly<Record<string, string>>>(),
  token: text('token').notNull(),
  state: text('state').$type<'queued' | 'sent' | 'uncertain' | 'failed'>().notNull().default('queued'),
  messageIds: text('message_ids').array().notNull().default([]),
  attempts: integer('attempts').notNull().default(0),
  unconfirmedSends: integer('unconfirmed_sends').notNull().default(0),
  shownVersion: integer('shown_version').notNull().default(0),
  wantedVersion: integer('wanted_version').notNull().default(1),
  decisiveShown: boolean('decisive_shown').notNull().default(true),
  nextAttemptAt: timestamp('next_attempt_at', { withTimezone: true }).notNull(),
  leaseUntil: timestamp('lease_until', { withTimezone: true }),
  hasButtons: boolean('has_buttons').notNull().default(true),
  issueId: uuid('issue_id').notNull(),
  issuedAt: timestamp('issued_at', { withTimezone: true }),
  reissue: boolean('reissue').notNull().default(false),
  retiredMessageIds: text('retired_message_ids').array().notNull().default([]),
  settleAt: timestamp('settle_at', { withTimezone: true }),
  cardView: text('card_view').$type<CardView>().notNull().default('whole'),
  error: text('error'),
  at: timestamp('at', { withTimezone: true }).notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
});

/** Each version of a card as it went out. */
export const renderedCards = pgTable(
  'rendered_cards',
  {
    deliveryId: uuid('delivery_id').$type<DeliveryId>().notNull(),
    version: integer('version').notNull(),
    locale: text('locale').$type<Locale>().notNull(),
    digest: text('digest').notNull(),
    payload: text('payload').notNull(),
    at: timestamp('at', { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.version, table.digest] })],
);
