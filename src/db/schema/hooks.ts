import { boolean, integer, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';

const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 6 });

/** The operators' log of settled calls. `migrations/0004_hooks.sql` holds constraints and indexes. */
export const connectorCalls = pgTable('connector_calls', {
  id: uuid('id').primaryKey(),
  at: time('at').notNull(),
  organization: text('organization').notNull(),
  connector: text('connector'),
  tool: text('tool').notNull(),
  agent: text('agent').notNull(),
  person: text('person'),
  session: text('session'),
  run: text('run'),
  status: text('status').notNull(),
  code: text('code'),
  durationMs: integer('duration_ms'),
  argsDigest: text('args_digest'),
  confirmation: text('confirmation'),
});

/** The calls that a rate limit counts, one row a key. */
export const rateWindows = pgTable('rate_windows', {
  key: text('key').primaryKey(),
  taken: time('taken').array().notNull(),
  allowed: boolean('allowed').notNull(),
});
