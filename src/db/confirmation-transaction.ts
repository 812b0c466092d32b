import { and, eq, isNull, ne, type SQL, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import { v7 as uuidv7 } from 'uuid';
import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { LedgerTransaction, LockedRequest } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import { appendAuditEvents } from './audit-store.ts';
import { insertConfirmation } from './confirmation-insert.ts';
import { lockConfirmation } from './confirmation-lock.ts';
import { type ConfirmationRow, confirmationOf, type VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { reachedNobody, wantVersion } from './delivery-store.ts';
import { readExplanation } from './explanation-store.ts';
import { readControls } from './gate-controls.ts';
import { giveOutcomeBack } from './give-outcome-back.ts';
import { insertReminders } from './reminder-store.ts';
import { holdSameCall } from './same-call.ts';
import { confirmations, votes } from './schema/confirmations.ts';
import { settleInvocation } from './settle-invocation.ts';

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
/** A duration of the frozen policy; a policy frozen before there was such a key has none. */
const policyInterval = (key: string): SQL =>
  sql`make_interval(secs => coalesce((${confirmations.policy} ->> ${sql.raw(`'${key}'`)})::numeric::float8, 0) / 1000.0)`;
const COOL_OFF = policyInterval('coolOffMs');
/**
 * From when a call can no longer be sent: for one of our runs the last moment of its sender and the tool's time on top
 * of it, whoever said first that nobody knows the outcome; an outside agent that says so is done.
 */
const SETTLE_FROM = sql`case when ${confirmations.runId} is null then ${STAMP} else greatest(${STAMP},
  ${confirmations.sendBy} + make_interval(secs => coalesce(${confirmations.toolTimeoutMs}, 0) / 1000.0)) end`;
const NEXT_VERSION = sql`${confirmations.version} + 1`;

/**
 * The ledger's statements on one open transaction. Ids that changed are collected for the notification; events are
 * collected for `flush`, which writes them in one go and has to run before the commit.
 */
export function openLedgerTransaction(
  connection: Connection,
  changed: Set<ConfirmationId>,
): { readonly transaction: LedgerTransaction; flush(): Promise<void> } {
  const events: NewAuditEvent[] = [];
  /** Of requests that this transaction holds: nobody else can add to them. */
  const heldVotes = new Map<string, VoteRow[]>();

  /** One guarded UPDATE; the cards of the request follow in the same transaction. */
  async function guardedUpdate(
    id: ConfirmationId,
    set: PgUpdateSetSource<typeof confirmations>,
    guard: SQL | undefined,
    /** Whether cards show the change. */
    { shows }: { readonly shows: boolean } = { shows: true },
  ): Promise<{ readonly row: ConfirmationRow; readonly request: ConfirmationRequest } | null> {
    const held = heldVotes.get(id);
    if (!held) throw new Error(`Confirmation ${id} is changed without being locked`);
    const [updated] = await connection
      .update(confirmations)
      .set({ ...set, ...(shows ? { version: NEXT_VERSION } : {}) })
      .from(ONE_READING)
      .where(and(eq(confirmations.id, id), guard))
      .returning({ row: confirmations });
    if (!updated) return null;
    if (shows) await wantVersion(connection, id, updated.row.version);
    changed.add(id);
    const reopened = await giveOutcomeBack(connection, updated.row);
    if (reopened !== null) {
      await wantVersion(connection, reopened.id, reopened.version);
      changed.add(reopened.id);
      events.push(reopened.event);
    }
    return { row: updated.row, request: confirmationOf(updated.row, held) };
  }

  const transaction: LedgerTransaction = {
    lockControls: () => readControls(connection, { share: true }),

    async lock(id) {
      const locked = await lockConfirmation(connection, id);
      if (!locked) return null;
      heldVotes.set(id, [...locked.votes]);
      return locked.request;
    },

    async lockSameCall(call) {
      const locked: LockedRequest[] = [];
      for (const id of await holdSameCall(connection, call)) {
        const request = await transaction.lock(id);
        if (request) locked.push(request);
      }
      return locked;
    },

    async insert(request) {
      const inserted = await insertConfirmation(connection, request);
      if (!inserted) return null;
      heldVotes.set(request.id, []);
      changed.add(request.id);
      return confirmationOf(inserted, []);
    },

    async addVote(vote) {
      const [added] = await connection
        .insert(votes)
        .values({
          id: uuidv7(),
          confirmationId: vote.confirmationId,
          personId: vote.person.id,
          personName: vote.person.name,
          seatId: vote.seat.id,
          seatName: vote.seat.name,
          verdict: vote.verdict,
          reason: vote.reason,
          channel: vote.channel,
          argsDigest: vote.argsDigest,
          seenDelivery: vote.seen?.delivery ?? null,
          seenVersion: vote.seen?.version ?? null,
          seenDigest: vote.seen?.digest ?? null,
          seenLocale: vote.seen?.locale ?? null,
          seenAt: vote.seen?.at ?? null,
          at: sql`date_trunc('milliseconds', clock_timestamp())` as unknown as Date,
        })
        .returning();
      if (added) heldVotes.get(vote.confirmationId)?.push(added);
    },

    async touch(id) {
      const updated = await guardedUpdate(id, {}, and(eq(confirmations.status, 'pending'), IN_TIME));
      return updated?.request ?? null;
    },

    async takeSteps(id, { delegatedSeats, escalate, remind, next }) {
      const set = {
        nextStepAt: next,
        ...(delegatedSeats.length === 0
          ? {}
          : { delegatedSeats: sql`${confirmations.delegatedSeats} || ${textArray(delegatedSeats)}` }),
        ...(escalate ? { escalatedAt: STAMP } : {}),
        ...(remind ? { remindedAt: STAMP } : {}),
      };
      const shows = delegatedSeats.length > 0 || escalate;
      const guard = and(eq(confirmations.status, 'pending'), IN_TIME);
      const updated = await guardedUpdate(id, set, guard, { shows });
      return updated?.request ?? null;
    },

    queueReminders: (id, kind) => insertReminders(connection, { confirmationId: id, kind }),

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
        supersededBy: decision.supersededBy ?? null,
        executableFrom: approved ? sql`${STAMP} + ${COOL_OFF}` : null,
        executeBy: approved ? sql`${STAMP} + ${COOL_OFF} + ${policyInterval('executeWithinMs')}` : null,
        coolingOff: approved ? sql`${COOL_OFF} > interval '0'` : false,
      };
      const inTime = decision.status === 'expired' ? OVERDUE : IN_TIME;
      const updated = await guardedUpdate(id, set, and(eq(confirmations.status, 'pending'), inTime));
      return updated && updated.request.status !== 'pending' ? updated.request : null;
    },

    async claim(id, argsDigest) {
      const updated = await guardedUpdate(
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
      const { executeBy, sendBy } = updated?.row ?? {};
      return updated && executeBy && sendBy ? { request: updated.request, executeBy, sendBy } : null;
    },

    async endCoolOff(id) {
      const guard = and(
        eq(confirmations.executionStatus, 'unclaimed'),
        eq(confirmations.coolingOff, true),
        sql`${NOW} >= ${confirmations.executableFrom}`,
      );
      const updated = await guardedUpdate(id, { coolingOff: false }, guard);
      return updated?.request ?? null;
    },

    async moveExecution(id, move) {
      const set = {
        executionStatus: move.to,
        executionAt: STAMP,
        executionDetail: move.detail,
        executionSource: move.source,
        ...(move.to === 'unknown' && {
          settleFrom: SETTLE_FROM,
          settleOpen: sql`${NOW} >= ${SETTLE_FROM}`,
        }),
        ...(move.source === 'settlement' && { settledById: move.by.id, settledByName: move.by.name }),
        ...(move.to === 'revoked' && {
          supersededBy: move.supersededBy ?? null,
          revokedById: move.by?.id ?? null,
          revokedByName: move.by?.name ?? null,
          revokeReason: move.reason,
        }),
      };
      const guard = and(
        ne(confirmations.status, 'pending'),
        eq(confirmations.executionStatus, move.from),
        isNull(confirmations.supersededBy),
      );
      const updated = await guardedUpdate(id, set, guard);
      if (updated && move.source === 'settlement') await settleInvocation(connection, updated.row);
      return updated?.request ?? null;
    },

    async openSettlement(id) {
      const guard = and(
        eq(confirmations.executionStatus, 'unknown'),
        eq(confirmations.settleOpen, false),
        sql`${NOW} >= ${confirmations.settleFrom}`,
      );
      const updated = await guardedUpdate(id, { settleOpen: true }, guard);
      return updated?.request ?? null;
    },

    async rerun(id, { by, reason, confirmation }) {
      const set = {
        supersededBy: confirmation,
        settledById: by.id,
        settledByName: by.name,
        rerunReason: reason,
        settleOpen: true,
      };
      const guard = and(
        eq(confirmations.executionStatus, 'unknown'),
        isNull(confirmations.supersededBy),
        sql`${NOW} >= ${confirmations.settleFrom}`,
      );
      const updated = await guardedUpdate(id, set, guard);
      return updated?.request ?? null;
    },

    explanationOf: (id) => readExplanation(connection, id),

    reachedNobody: (id) => reachedNobody(connection, id),

    record: (event) => void events.push(event),
  };

  return { transaction, flush: () => appendAuditEvents(connection, events.splice(0)) };
}

const textArray = (texts: readonly string[]): SQL =>
  sql`array[${sql.join(
    texts.map((text) => sql`${text}::text`),
    sql`, `,
  )}]`;
