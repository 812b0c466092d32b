import { integer, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import type { ReminderKind } from '../../channel/reminder-outbox.ts';
import type { DeliveryId } from '../../ids.ts';

/** Notes under cards. `migrations/0005_seats.sql` holds constraints and indexes. */
export const reminders = pgTable('reminders', {
  id: uuid('id').primaryKey(),
  deliveryId: uuid('delivery_id').$type<DeliveryId>().notNull(),
  kind: text('kind').$type<ReminderKind>().notNull(),
  state: text('state')
    .$type<'queued' | 'sending' | 'sent' | 'uncertain' | 'failed'>()
    .notNull()
    .default('queued'),
  attempts: integer('attempts').notNull().default(0),
  nextAttemptAt: timestamp('next_attempt_at', { withTimezone: true }).notNull(),
  error: text('error'),
  at: timestamp('at', { withTimezone: true }).notNull(),
});
