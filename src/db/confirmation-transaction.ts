import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import { v7 as uuidv7 } from 'uuid';
import type { LedgerTransaction, LockedRequest } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import { appendAuditEvents } from './audit-store.ts';
import { insertConfirmation } from './confirmation-insert.ts';
import { readConfirmations } from './confirmation-reads.ts';
import { confirmationOf, type VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { reachedNobody, wantVersion } from './delivery-store.ts';
import { confirmations, gateControls, votes } from './schema/confirmations.ts';

/** What a process may still send after its claim; past it, it gives up (INVARIANTS: claim + 10 s). */
const SEND_WITHIN = sql`interval '10 seconds'`;
/**
 * One reading of the database clock for a whole UPDATE: what the guard compared with the deadline is what is written
 * down as the time. (PostgreSQL keeps a sub-select with a volatile function apart and evaluates it once.)
 */
const ONE_READING = sql`(select clock_timestamp() as now) as clock`;
const NOW = sql`clock.now`;
const STAMP = sql`date_trunc('milliseconds', clock.now)`;
const IN_TIME = sql`${NOW} < ${confirmations.decideBy}`;
const OVERDUE = sql`${NOW} >= ${confirmations.decideBy}`;
const NEXT_VERSION = sql`${confirmations.version} + 1`;

/** The ledger's statements on one open transaction. Ids that changed are collected for the notification. */
export function createLedgerTransaction(
  connection: Connection,
  changed: Set<ConfirmationId>,
): LedgerTransaction {
  /** One guarded UPDATE; the cards of the request follow in the same transaction. */
  async function guardedUpdate(
    id: ConfirmationId,
    set: PgUpdateSetSource<typeof confirmations>,
    guard: SQL | undefined,
  ): Promise<{ readonly executeBy: Date | null; readonly sendBy: Date | null } | null> {
    const [row] = await connection
      .update(confirmations)
      .set({ ...set, version: NEXT_VERSION })
      .from(ONE_READING)
      .where(and(eq(confirmations.id, id), guard))
      .returning({
        version: confirmations.version,
        executeBy: confirmations.executeBy,
        sendBy: confirmations.sendBy,
      });
    if (!row) return null;
    await wantVersion(connection, id, row.version);
    changed.add(id);
    return row;
  }

  return {
    async lockControls() {
      const [row] = await connection
        .select({
          readOnlyOrganization: gateControls.readOnlyOrganization,
          readOnlyConnectors: gateControls.readOnlyConnectors,
        })
        .from(gateControls)
        .for('share');
      if (!row) throw new Error('The row of gate_controls is missing; restore the database from a backup.');
      return row;
    },

    lock: (id) => lockRequest(connection, id),

    async insert(request) {
      const inserted = await insertConfirmation(connection, request);
      if (!inserted) return null;
      changed.add(request.id);
      return confirmationOf(inserted, []);
    },

    async addVote(vote) {
      await connection.insert(votes).values({
        id: uuidv7(),
        confirmationId: vote.confirmationId,
        personId: vote.person.id,
        personName: vote.person.name,
        verdict: vote.verdict,
        reason: vote.reason,
        channel: vote.channel,
        argsDigest: vote.argsDigest,
        at: sql`date_trunc('milliseconds', clock_timestamp())` as unknown as Date,
      });
    },

    async touch(id) {
      return (await guardedUpdate(id, {}, and(eq(confirmations.status, 'pending'), IN_TIME))) !== null;
    },

    async close(id, decision) {
      const approved = decision.status === 'approved';
      const set = {
        status: decision.status,
        decidedAt: STAMP,
        decidedById: decision.by?.id ?? null,
        decidedByName: decision.by?.name ?? null,
        decisionReason: decision.reason,
        decisionCode: decision.code,
        executionStatus: approved ? ('unclaimed' as const) : ('none' as const),
        executableFrom: approved ? STAMP : null,
        executeBy: approved
          ? sql`${STAMP} + make_interval(secs => (${confirmations.policy} ->> 'executeWithinMs')::numeric::float8 / 1000.0)`
          : null,
      };
      const inTime = decision.status === 'expired' ? OVERDUE : IN_TIME;
      return (await guardedUpdate(id, set, and(eq(confirmations.status, 'pending'), inTime))) !== null;
    },

    async claim(id, argsDigest) {
      const row = await guardedUpdate(
        id,
        { executionStatus: 'claimed', claimedAt: STAMP, sendBy: sql`${STAMP} + ${SEND_WITHIN}` },
        and(
          eq(confirmations.status, 'approved'),
          eq(confirmations.executionStatus, 'unclaimed'),
          eq(confirmations.argsDigest, argsDigest),
          sql`${NOW} >= ${confirmations.executableFrom}`,
          sql`${NOW} < ${confirmations.executeBy}`,
        ),
      );
      return row?.executeBy && row.sendBy ? { executeBy: row.executeBy, sendBy: row.sendBy } : null;
    },

    async moveExecution(id, move) {
      const set = {
        executionStatus: move.to,
        executionAt: STAMP,
        executionDetail: move.detail,
        executionSource: move.source,
      };
      return (await guardedUpdate(id, set, eq(confirmations.executionStatus, move.from))) !== null;
    },

    reachedNobody: (id) => reachedNobody(connection, id),

    async read(id) {
      const [request] = await readConfirmations(connection, eq(confirmations.id, id));
      if (!request) throw new Error(`Confirmation ${id} has gone`);
      return request;
    },

    record: (event) => appendAuditEvents(connection, [event]),
  };
}

async function lockRequest(connection: Connection, id: ConfirmationId): Promise<LockedRequest | null> {
  const [row] = await connection.select().from(confirmations).where(eq(confirmations.id, id)).for('update');
  if (!row) return null;
  // A statement of its own: only after the lock was granted does the clock count, and are the votes complete.
  const [after] = await connection
    .select({
      late: sql<boolean>`clock_timestamp() >= ${confirmations.decideBy}`,
      window: sql<LockedRequest['window']>`case
        when ${confirmations.executeBy} is null then 'none'
        when clock_timestamp() < ${confirmations.executableFrom} then 'before'
        when clock_timestamp() < ${confirmations.executeBy} then 'open'
        else 'over' end`,
    })
    .from(confirmations)
    .where(eq(confirmations.id, id));
  const voteRows: VoteRow[] = await connection
    .select()
    .from(votes)
    .where(eq(votes.confirmationId, id))
    .orderBy(votes.at, votes.id);
  if (!after) throw new Error(`Confirmation ${id} has gone while it was locked`);
  return {
    request: confirmationOf(row, voteRows),
    late: after.late,
    window: after.window,
    toolWrites: row.toolWrites,
    connector: row.connector,
  };
}
