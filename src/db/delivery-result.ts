import { eq, type SQL, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import { v7 as uuidv7 } from 'uuid';
import { assertNever } from '../assert-never.ts';
import { type AuditKind, SYSTEM_ACTOR } from '../audit/audit-event.ts';
import { storableText } from '../audit/storable-data.ts';
import type { DeliveryResult, DueDelivery } from '../channel/delivery-outbox.ts';
import type { JsonObject } from '../json.ts';
import { appendAuditEvents } from './audit-store.ts';
import type { Connection } from './database.ts';
import { holdsLease } from './delivery-lease.ts';
import { confirmations } from './schema/confirmations.ts';
import { deliveries } from './schema/deliveries.ts';

type DeliveryChanges = PgUpdateSetSource<typeof deliveries>;

const CLOCK = sql`clock_timestamp()`;
const LONGEST_ERROR = 500;
const NEVER = sql`'infinity'::timestamptz`;
/** More attempts than anything tries. */
const NEVER_AGAIN = 1_000;
/** A change without an answer arrives within this long, or never: twice the time-out of a call and the lease on it. */
const SETTLES_AFTER_MS = 60_000;
/** The platform did what it was asked to. */
const TAKEN = {
  attempts: 0,
  error: null,
  at: CLOCK,
  nextAttemptAt: CLOCK,
} as const satisfies DeliveryChanges;

/**
 * Writes one try's result with its audit event. The request is locked first, as everything that changes a request
 * does: one order of locks, no deadlock with a decision made at this moment.
 */
export async function recordDeliveryResult(
  connection: Connection,
  due: DueDelivery,
  result: DeliveryResult,
): Promise<void> {
  const [request] = await connection
    .select({ runId: confirmations.runId })
    .from(confirmations)
    .where(eq(confirmations.id, due.confirmationId))
    .for('update');
  const written = { writtenTo: deliveries.personId };
  let changed = await connection
    .update(deliveries)
    .set({ ...changesOf(due, result), leaseUntil: null })
    .where(holdsLease(due))
    .returning(written);
  if (changed.length === 0) {
    // Another process took over after this one had stalled. A message that was sent exists nevertheless.
    if (result.kind !== 'sent') return;
    changed = await connection
      .update(deliveries)
      .set(keptMessage(result))
      .where(eq(deliveries.id, due.id))
      .returning(written);
  }
  const event = eventOf(due, result, changed[0]?.writtenTo ?? null);
  if (event === null) return;
  await appendAuditEvents(connection, [
    { ...event, confirmation: due.confirmationId, run: request?.runId ?? null, actor: SYSTEM_ACTOR },
  ]);
}

function changesOf(due: DueDelivery, result: DeliveryResult): DeliveryChanges {
  switch (result.kind) {
    case 'sent':
      return {
        ...keptMessage(result),
        // After a repeated send the message may be the earlier one, which shows an earlier version.
        ...(due.task === 'send' && due.attempt > 1
          ? { shownVersion: 0, hasButtons: true }
          : { shownVersion: result.shown.version, hasButtons: result.shown.hasButtons }),
      };
    case 'updated':
      return {
        shownVersion: result.shown.version,
        hasButtons: result.shown.hasButtons,
        ...(due.settles ? { settleAt: null } : {}),
        reissue: false,
        ...TAKEN,
      };
    case 'retired':
      return {
        state: 'queued',
        retiredMessageIds: sql`${deliveries.retiredMessageIds} || ${deliveries.messageIds}`,
        messageIds: [],
        unconfirmedSends: 0,
        issueId: uuidv7(),
        issuedAt: null,
        ...{ shownVersion: 0, hasButtons: false, settleAt: null, reissue: false },
        ...TAKEN,
      };
    case 'reinstated':
      return {
        state: 'sent',
        messageIds: sql`${deliveries.retiredMessageIds}`,
        retiredMessageIds: [],
        unconfirmedSends: 0,
        ...TAKEN,
      };
    case 'content-refused':
      return {
        ...notShown(due, result.error, didNotArrive(due)),
        attempts: due.failedAttempts,
        cardView: result.view,
        nextAttemptAt: CLOCK,
      };
    case 'uncertain':
      return {
        ...notShown(due, result.error, STILL_UNCONFIRMED),
        nextAttemptAt: inMs(result.retryInMs),
        ...(due.task === 'send' ? {} : { settleAt: inMs(SETTLES_AFTER_MS) }),
      };
    case 'retry':
      return { ...notShown(due, result.error, didNotArrive(due)), nextAttemptAt: inMs(result.retryInMs) };
    case 'gave-up':
      return {
        ...notShown(due, result.error, didNotArrive(due), 'failed'),
        ...(result.mayRecover ? {} : { attempts: NEVER_AGAIN }),
        settleAt: null,
        // A newer version that was asked for meanwhile deserves a try of its own.
        nextAttemptAt: sql`case when ${deliveries.wantedVersion} > ${due.wantedVersion} then ${CLOCK} else ${NEVER} end`,
      };
    default:
      return assertNever(result);
  }
}

const keptMessage = ({
  messageId,
  chat = '',
}: Extract<DeliveryResult, { kind: 'sent' }>): DeliveryChanges => ({
  state: 'sent',
  // Only that of a direct message is not known before.
  chat: sql`case when ${deliveries.chat} = '' then ${chat} else ${deliveries.chat} end`,
  messageIds: sql`case when ${messageId} = any(${deliveries.messageIds}) then ${deliveries.messageIds}
                  else array_append(${deliveries.messageIds}, ${messageId}) end`,
  unconfirmedSends: sql`greatest(${deliveries.unconfirmedSends} - 1, 0)`,
  issuedAt: sql`coalesce(${deliveries.issuedAt}, ${CLOCK})`,
  ...TAKEN,
});

/** A card that may stand in the chat reads `uncertain`, one that is known to stand there `sent`, whatever went wrong. */
function notShown(
  due: DueDelivery,
  error: string,
  unconfirmed: SQL,
  otherwise: 'queued' | 'failed' = 'queued',
): DeliveryChanges {
  return {
    state: sql`case when cardinality(${deliveries.messageIds}) > 0 then 'sent'
                    when ${unconfirmed} > 0 then 'uncertain' else ${otherwise} end`,
    unconfirmedSends: unconfirmed,
    attempts: due.failedAttempts + 1,
    // A platform's words: whatever they hold, the row has to take them.
    error: storableText(error, LONGEST_ERROR),
    at: CLOCK,
  };
}

const STILL_UNCONFIRMED = sql`${deliveries.unconfirmedSends}`;

const didNotArrive = (due: DueDelivery): SQL =>
  due.task === 'send' ? sql`greatest(${deliveries.unconfirmedSends} - 1, 0)` : STILL_UNCONFIRMED;

const inMs = (delayMs: number): SQL => sql`${CLOCK} + make_interval(secs => ${delayMs / 1000}::float8)`;

/** Of failures in a row the first and the last are on the record; a platform that is down for a day fills no log. */
function eventOf(
  due: DueDelivery,
  result: DeliveryResult,
  /** Whose direct message the card is; null: it is in the channel's chat. */
  writtenTo: string | null,
): { readonly kind: AuditKind; readonly data: JsonObject } | null {
  const data = { channel: due.channel, writtenTo, delivery: due.id, task: due.task };
  if (result.kind === 'sent' || result.kind === 'updated') {
    const messageIds =
      result.kind === 'sent' ? [result.messageId] : due.task === 'send' ? [] : [...due.messageIds];
    const { version, digest } = result.shown;
    return { kind: 'card.delivered', data: { ...data, messageIds, version, digest } };
  }
  if (result.kind === 'retired')
    return {
      kind: 'card.moved',
      data: { ...data, messageIds: due.task === 'send' ? [] : [...due.messageIds] },
    };
  if (result.kind === 'reinstated') return null;
  const everyTime = result.kind === 'gave-up' || result.kind === 'content-refused';
  if (!everyTime && due.failedAttempts > 0) return null;
  return { kind: 'card.failed', data: { ...data, result: result.kind, error: result.error } };
}
