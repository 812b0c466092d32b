import { pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';

const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 6 });

/** `migrations/0006_freezes.sql` holds the constraints and triggers. */
export const freezes = pgTable('freezes', {
  id: uuid('id').primaryKey(),
  tools: text('tools').array().notNull(),
  reason: text('reason').notNull(),
  startedAt: time('started_at').notNull(),
  startedById: text('started_by_id').notNull(),
  startedByName: text('started_by_name').notNull(),
  endRequestedAt: time('end_requested_at'),
  endRequestedById: text('end_requested_by_id'),
  endRequestedByName: text('end_requested_by_name'),
  endedAt: time('ended_at'),
  endedById: text('ended_by_id'),
  endedByName: text('ended_by_name'),
  cardsDueAt: time('cards_due_at'),
});
