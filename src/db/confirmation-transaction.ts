import { and, eq, isNull, ne, sql } from 'drizzle-orm';
import type { NewAuditEvent } from '../audit/audit-event.ts';
import { chainOf } from '../audit/event-hash.ts';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { LedgerTransaction, LockedRequest } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import { appendAuditEvents, type ChainEnd } from './audit-store.ts';
import { changePending } from './change-pending.ts';
import { insertConfirmation } from './confirmation-insert.ts';
import { lockConfirmation, lockFreeConfirmations } from './confirmation-lock.ts';
import { type ConfirmationRow, confirmationOf } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { insertDeliveries, readReached, wantVersion } from './delivery-store.ts';
import { readExplanation } from './explanation-store.ts';
import { readControls } from './gate-controls.ts';
import { giveOutcomeBack } from './give-outcome-back.ts';
import { changeHeld, type GuardedChange, type HeldRequest, NOW, STAMP } from './held-request.ts';
import { insertReminders, insertResultNotes } from './reminder-store.ts';
import { rowsOf } from './rows-of.ts';
import { holdSameCall } from './same-call.ts';
import { auditEvents } from './schema/audit.ts';
import { confirmations } from './schema/confirmations.ts';
import { settleInvocation } from './settle-invocation.ts';

/** What a process may still send after its claim; past it, it gives up (INVARIANTS: claim + 10 s). */
const SEND_WITHIN = sql`interval '10 seconds'`;
const PENDING = eq(confirmations.status, 'pending');
const IN_TIME = sql`${NOW} < ${confirmations.decideBy}`;
/**
 * From when a call can no longer be sent: for one of our runs the last moment of its sender and the tool's time on top
 * of it, whoever said first that nobody knows the outcome; an outside agent that says so is done.
 */
const SETTLE_FROM = sql`case when ${confirmations.runId} is null then ${STAMP} else greatest(${STAMP},
  ${confirmations.sendBy} + make_interval(secs => coalesce(${confirmations.toolTimeoutMs}, 0) / 1000.0)) end`;

interface ChangedRequest {
  readonly row: ConfirmationRow;
  readonly request: ConfirmationRequest;
}

/**
 * The ledger's statements on one open transaction. Ids that changed are collected for the notification; events are
 * collected for `flush`, which writes them in one go and has to run before the commit.
 */
export function openLedgerTransaction(
  connection: Connection,
  changed: Set<ConfirmationId>,
): { readonly transaction: LedgerTransaction; flush(): Promise<void> } {
  const events: NewAuditEvent[] = [];
  const held = new Map<string, HeldRequest>();

  function heldRequest(id: ConfirmationId): HeldRequest {
    const known = held.get(id);
    if (!known) throw new Error(`Confirmation ${id} is changed without being locked`);
    return known;
  }

  async function keepChange(id: ConfirmationId, after: HeldRequest): Promise<ChangedRequest> {
    held.set(id, after);
    changed.add(id);
    await reopenWhatEnded(after.row);
    return { row: after.row, request: confirmationOf(after.row, after.votes) };
  }

  /** One guarded change of a request that this transaction holds. */
  async function change(
    id: ConfirmationId,
    { shows = true, ...rest }: Partial<GuardedChange> & Pick<GuardedChange, 'set' | 'guard'>,
  ): Promise<ChangedRequest | null> {
    const after = await changeHeld(connection, heldRequest(id), { ...rest, shows });
    return after && keepChange(id, after);
  }

  /** Where what has ended ran another request's call again, and came to nothing. */
  async function reopenWhatEnded(ended: ConfirmationRow): Promise<void> {
    const reopened = await giveOutcomeBack(connection, ended);
    if (reopened === null) return;
    const { row, event } = reopened;
    const id = row.id as ConfirmationId;
    const before = held.get(id);
    if (before) held.set(id, { ...before, row });
    await wantVersion(connection, id, row.version);
    changed.add(id);
    events.push(event);
  }

  const transaction: LedgerTransaction = {
    lockControls: () => readControls(connection, { share: true }),

    async lock(id) {
      const locked = await lockConfirmation(connection, id);
      if (!locked) return null;
      held.set(id, locked.held);
      return locked.request;
    },

    async lockFree(ids) {
      const locked = await lockFreeConfirmations(connection, ids);
      for (const one of locked) held.set(one.request.request.id, one.held);
      return locked.map(({ request }) => request);
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
      held.set(request.id, { row: inserted, votes: [], chain: null });
      changed.add(request.id);
      return confirmationOf(inserted, []);
    },

    async castVotes(votes) {
      const changes = votes.map(({ vote, decision }) => ({
        held: heldRequest(vote.confirmationId),
        vote,
        decision,
      }));
      const cast: ConfirmationRequest[] = [];
      for (const after of (await changePending(connection, changes)).values()) {
        cast.push((await keepChange(after.row.id as ConfirmationId, after)).request);
      }
      return cast;
    },

    async takeSteps(id, { delegatedSeats, escalate, remind, next }) {
      const set = {
        nextStepAt: next,
        ...(delegatedSeats.length === 0
          ? {}
          : {
              delegatedSeats: sql`${confirmations.delegatedSeats} || ${sql.param([...delegatedSeats])}::text[]`,
            }),
        ...(escalate ? { escalatedAt: STAMP } : {}),
        ...(remind ? { remindedAt: STAMP } : {}),
      };
      const shows = delegatedSeats.length > 0 || escalate;
      const updated = await change(id, { set, guard: and(PENDING, IN_TIME), shows });
      return updated?.request ?? null;
    },

    queueReminders: (id, kind) => insertReminders(connection, { confirmationId: id, kind }),

    async close(id, decision) {
      const change = { held: heldRequest(id), vote: null, decision };
      const after = (await changePending(connection, [change])).get(id);
      if (after === undefined) return null;
      const { request } = await keepChange(id, after);
      return request.status === 'pending' ? null : request;
    },

    async claim(id, argsDigest) {
      const updated = await change(id, {
        set: { executionStatus: 'claimed', claimedAt: STAMP, sendBy: sql`${STAMP} + ${SEND_WITHIN}` },
        guard: and(
          eq(confirmations.status, 'approved'),
          eq(confirmations.executionStatus, 'unclaimed'),
          eq(confirmations.argsDigest, argsDigest),
          sql`${NOW} >= ${confirmations.executableFrom}`,
          sql`${NOW} < ${confirmations.executeBy}`,
        ),
      });
      const { executeBy, sendBy } = updated?.row ?? {};
      return updated && executeBy && sendBy ? { request: updated.request, executeBy, sendBy } : null;
    },

    async claimantOf(id) {
      const [claim] = await rowsOf<{ claimant: string | null }>(
        connection,
        sql`select data ->> 'claimant' as claimant from ${auditEvents}
            where ${auditEvents.confirmationId} = ${id} and ${auditEvents.kind} = 'grant.claimed'`,
      );
      return claim?.claimant ?? null;
    },

    async endCoolOff(id) {
      const guard = and(
        eq(confirmations.executionStatus, 'unclaimed'),
        eq(confirmations.coolingOff, true),
        sql`${NOW} >= ${confirmations.executableFrom}`,
      );
      const updated = await change(id, { set: { coolingOff: false }, guard });
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
      const updated = await change(id, { set, guard });
      if (updated) await insertResultNotes(connection, updated.row);
      if (updated && move.source === 'settlement') await settleInvocation(connection, updated.row);
      return updated?.request ?? null;
    },

    async openSettlement(id) {
      const guard = and(
        eq(confirmations.executionStatus, 'unknown'),
        eq(confirmations.settleOpen, false),
        sql`${NOW} >= ${confirmations.settleFrom}`,
      );
      const updated = await change(id, { set: { settleOpen: true }, guard });
      if (updated) await insertResultNotes(connection, updated.row);
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
      const updated = await change(id, { set, guard });
      return updated?.request ?? null;
    },

    async queueCards(id, places) {
      await insertDeliveries(connection, { confirmationId: id, places, at: null });
      changed.add(id);
    },

    async reroute(id) {
      const guard = and(PENDING, IN_TIME, isNull(confirmations.reroutedAt));
      return (await change(id, { set: { reroutedAt: STAMP }, guard, shows: false })) !== null;
    },

    reached: (id) => readReached(connection, id),

    explanationOf: (id) => readExplanation(connection, id),

    record: (event) => void events.push(event),
  };

  async function flush() {
    const ends = [...held].flatMap(([id, { chain }]): [string, ChainEnd][] =>
      chain === null ? [] : [[chainOf({ confirmation: id, run: null }), chain]],
    );
    await appendAuditEvents(connection, events.splice(0), new Map(ends));
  }

  return { transaction, flush };
}
