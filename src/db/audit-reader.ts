import { and, asc, eq, gt, gte, isNotNull, lt, or, type SQL, sql } from 'drizzle-orm';
import type { AuditEvent } from '../audit/audit-event.ts';
import type { AuditFilter, AuditPage, AuditReader } from '../audit/audit-reader.ts';
import { verifyAudit } from '../audit/verify.ts';
import { CountersignError } from '../errors.ts';
import { parseConfirmationId, parseRunId } from '../ids.ts';
import { readAuditEvidence } from './audit-reader-evidence.ts';
import type { Database } from './database.ts';
import { auditEvents } from './schema/audit.ts';

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 1_000;

/** The record as auditors see it. Reads only; several may read at once while events are appended. */
export function createAuditReader(database: Database): AuditReader {
  /** Up to `limit` events after number `after`. */
  async function page(filter: AuditFilter, after: number, limit: number): Promise<AuditEvent[]> {
    const rows = await database.connection
      .select()
      .from(auditEvents)
      .where(and(isNotNull(auditEvents.seq), gt(auditEvents.seq, after), ...conditionsOf(filter)))
      .orderBy(asc(auditEvents.seq))
      .limit(limit);
    return rows.map(auditEventOf);
  }

  async function list({ limit, cursor, ...filter }: Parameters<AuditReader['list']>[0]): Promise<AuditPage> {
    const size = Math.min(Math.max(1, limit ?? DEFAULT_LIMIT), LARGEST_LIMIT);
    const found = await page(filter, afterOf(cursor), size + 1);
    const items = found.slice(0, size);
    const last = items.at(-1);
    return { items, nextCursor: found.length > size && last ? String(last.seq) : null };
  }

  async function* exportEvents(filter: AuditFilter): AsyncGenerator<AuditEvent> {
    let after = 0;
    for (;;) {
      const events = await page(filter, after, LARGEST_LIMIT);
      yield* events;
      after = events.at(-1)?.seq ?? after;
      if (events.length < LARGEST_LIMIT) return;
    }
  }

  return { list, export: exportEvents, verify: () => verifyAudit(readAuditEvidence(database)) };
}

/** A cursor is the number of the last event of the page before. */
function afterOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^\d{1,15}$/.test(cursor)) {
    throw new CountersignError(
      'invalid_request',
      'The cursor is not one that an earlier page gave as `nextCursor`.',
    );
  }
  return Number(cursor);
}

function conditionsOf(filter: AuditFilter): SQL[] {
  const conditions: (SQL | undefined)[] = [];
  const { confirmation, run, kind, person, from, to } = filter;
  // What is no id cannot be on any event; the column would throw at it.
  if (confirmation !== undefined) {
    conditions.push(
      parseConfirmationId(confirmation) ? eq(auditEvents.confirmationId, confirmation) : NOTHING,
    );
  }
  if (run !== undefined) conditions.push(parseRunId(run) ? eq(auditEvents.runId, run) : NOTHING);
  if (kind !== undefined) conditions.push(eq(auditEvents.kind, kind));
  if (person !== undefined) {
    const acted = and(eq(auditEvents.actorType, 'person'), eq(auditEvents.actorId, person));
    conditions.push(or(acted, sql`${auditEvents.data} ->> 'person' = ${person}`));
  }
  if (from !== undefined) conditions.push(gte(auditEvents.at, from));
  if (to !== undefined) conditions.push(lt(auditEvents.at, to));
  return conditions.filter((condition) => condition !== undefined);
}

const NOTHING = sql`false`;

function auditEventOf(row: typeof auditEvents.$inferSelect): AuditEvent {
  const { seq, prevHash, hash } = row;
  if (seq === null || prevHash === null || hash === null)
    throw new Error(`Event ${row.id} is not sequenced.`);
  return {
    seq,
    id: row.id,
    at: row.at,
    kind: row.kind,
    confirmation: row.confirmationId,
    run: row.runId,
    actor: { type: row.actorType, id: row.actorId, name: row.actorName },
    data: row.data,
    prevHash,
    hash,
    requestSeq: row.requestSeq,
    requestPrev: row.requestPrev,
    requestHash: row.requestHash,
  };
}
