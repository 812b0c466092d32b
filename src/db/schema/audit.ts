import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';
import type { AuditActor, AuditKind } from '../../audit/audit-event.ts';
import type { RefusedAttempt } from '../../confirmation/refused-attempt.ts';
import type { JsonObject } from '../../json.ts';

/** One row a chain: how long it is and where it ends. Locked by whoever appends to the chain. */
export const auditChains = pgTable('audit_chains', {
  chain: text().primaryKey(),
  length: integer().notNull(),
  head: text().notNull(),
});

/** The record. Append-only; only the sequencer's four columns are ever set afterwards, once. */
export const auditEvents = pgTable('audit_events', {
  id: uuid().primaryKey(),
  at: timestamp({ withTimezone: true, mode: 'date' }).notNull(),
  kind: text().$type<AuditKind>().notNull(),
  confirmationId: uuid('confirmation_id'),
  runId: uuid('run_id'),
  actorType: text('actor_type').$type<AuditActor['type']>().notNull(),
  actorId: text('actor_id').notNull(),
  actorName: text('actor_name').notNull(),
  data: jsonb().$type<JsonObject>().notNull(),
  chain: text().notNull(),
  requestSeq: integer('request_seq').notNull(),
  requestPrev: text('request_prev').notNull(),
  requestHash: text('request_hash').notNull(),
  canonical: text().notNull(),
  /** Its place in the queue for the sequencer; null once sequenced. */
  insertOrder: bigint('insert_order', { mode: 'number' }).default(sql`nextval('audit_insert_order')`),
  seq: bigint({ mode: 'number' }),
  prevHash: text('prev_hash'),
  hash: text(),
});

/** Where the whole log ends. */
export const auditHead = pgTable('audit_head', {
  singleton: boolean().primaryKey().default(true),
  seq: bigint({ mode: 'number' }).notNull(),
  hash: text().notNull(),
});

/** Which refusals are on the record; `migrations/0010_refused_attempts.sql` says what each part holds. */
export const refusedAttempts = pgTable(
  'refused_attempts',
  {
    subject: text().notNull(),
    who: text().notNull(),
    act: text().$type<RefusedAttempt['act']>().notNull(),
    code: text().notNull(),
    surface: text().notNull(),
    place: text().notNull(),
  },
  ({ subject, who, act, code, surface, place }) => [
    primaryKey({ name: 'refused_attempts_pk', columns: [subject, who, act, code, surface, place] }),
  ],
);
