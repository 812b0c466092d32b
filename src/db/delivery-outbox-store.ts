import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { DeliveryOutbox, DueDelivery } from '../channel/delivery-outbox.ts';
import type { Connection, Database } from './database.ts';
import { DIRECT_COLUMNS, directOf, holdsLease } from './delivery-lease.ts';
import { recordDeliveryResult } from './delivery-result.ts';
import { IS_CHANGE, IS_DUE, IS_SEND } from './due-cards.ts';
import { mendDeliveries, rewriteDeliveries } from './mend-deliveries.ts';
import { confirmations } from './schema/confirmations.ts';
import { deliveries, renderedCards } from './schema/deliveries.ts';
import { findUnreached } from './unreached-query.ts';

const CLOCK = sql`clock_timestamp()`;

/** The outbox over the `deliveries` rows, the same on PostgreSQL and on the embedded database. */
export function createDeliveryOutbox(database: Database): DeliveryOutbox {
  const { connection } = database;
  return {
    claim: (input) => claim(connection, input),
    keepRendered: (input) => database.transaction((inside) => keepRendered(inside, input)),
    async record({ due, result }) {
      await database.transaction((inside) => recordDeliveryResult(inside, due, result));
      // The event is on the record; a lost wake-up only delays its number, until the sequencer's next poll.
      await database.notifier.notify('audit', due.confirmationId).catch(() => {});
    },
    release: (due) => release(connection, due),
    mend: (input) => mendDeliveries(connection, input),
    rewrite: (channel) => rewriteDeliveries(connection, channel),
    unreached: (confirmation) => findUnreached(connection, confirmation ?? null),
  };
}

async function claim(
  connection: Connection,
  { channel, sends, changes, leaseMs }: Parameters<DeliveryOutbox['claim']>[0],
): Promise<readonly DueDelivery[]> {
  const due = (kind: SQL | undefined, limit: number) =>
    sql`array(${connection
      .select({ id: deliveries.id })
      .from(deliveries)
      .where(
        and(
          eq(deliveries.channelId, channel),
          IS_DUE,
          kind,
          sql`coalesce(${deliveries.leaseUntil} <= ${CLOCK}, true)`,
        ),
      )
      .orderBy(deliveries.nextAttemptAt)
      .limit(limit)
      .for('update', { skipLocked: true })})`;
  // Two looks that stop early, instead of a sort of all that is due; what both find counts twice, and is claimed once.
  const dueChanges = sql`(${due(and(IS_CHANGE, IS_DECISIVE), changes)} || ${due(IS_CHANGE, changes)})[1:${changes}]`;
  const isSend = sql`${deliveries.state} <> 'sent'`;
  const claimed = await connection
    .update(deliveries)
    .set({
      leaseUntil: sql`${CLOCK} + make_interval(secs => ${leaseMs / 1000}::float8)`,
      // A send that began and never came back leaves its mark here: the card may stand in the chat.
      state: sql`case when ${deliveries.state} = 'queued' and ${deliveries.unconfirmedSends} > 0
                 then 'uncertain' else ${deliveries.state} end`,
      unconfirmedSends: sql`${deliveries.unconfirmedSends} + case when ${isSend} then 1 else 0 end`,
    })
    // Arrays, not `in (…)`: the planner may run a joined sub-query more than once, and would lock beyond the limit.
    .where(sql`${deliveries.id} = any(${due(IS_SEND, sends)} || ${dueChanges})`)
    .returning({ ...CLAIMED, lease: sql<string>`${deliveries.leaseUntil}::text` });
  return claimed.map(dueDeliveryOf);
}

/** Buttons stand under a request that is closed. Not an `exists`: that is planned as a join, which reads every request. */
const IS_DECISIVE = sql`${deliveries.hasButtons} and (
  select ${confirmations.status} <> 'pending' from ${confirmations}
  where ${confirmations.id} = ${deliveries.confirmationId})`;

const CLAIMED = {
  id: deliveries.id,
  confirmationId: deliveries.confirmationId,
  channel: deliveries.channelId,
  issueId: deliveries.issueId,
  token: deliveries.token,
  ...DIRECT_COLUMNS,
  view: deliveries.cardView,
  state: deliveries.state,
  messageIds: deliveries.messageIds,
  retiredMessageIds: deliveries.retiredMessageIds,
  failedAttempts: deliveries.attempts,
  unconfirmedSends: deliveries.unconfirmedSends,
  wantedVersion: deliveries.wantedVersion,
  reissue: deliveries.reissue,
  settles: sql<boolean>`coalesce(${deliveries.settleAt} <= ${CLOCK}, false)`,
};

function dueDeliveryOf({
  state,
  messageIds,
  retiredMessageIds,
  unconfirmedSends,
  reissue,
  personIds,
  chat,
  ...rest
}: Omit<DueDelivery, 'task' | 'direct'> & {
  readonly personIds: Readonly<Record<string, string>> | null;
  readonly chat: string;
  readonly state: string;
  readonly messageIds: readonly string[];
  readonly retiredMessageIds: readonly string[];
  readonly unconfirmedSends: number;
  readonly reissue: boolean;
}): DueDelivery {
  const common = { ...rest, direct: directOf({ personIds, chat }) };
  return state === 'sent'
    ? { ...common, task: reissue ? 'retire' : 'update', messageIds }
    : { ...common, task: 'send', attempt: unconfirmedSends, reissued: retiredMessageIds.length > 0 };
}

async function keepRendered(
  connection: Connection,
  { due, card, rendered, digest }: Parameters<DeliveryOutbox['keepRendered']>[0],
): Promise<boolean> {
  const { actions } = card;
  const held = await connection
    .update(deliveries)
    .set({
      // Only a card with buttons can be approved from; a closed one says nothing about that.
      decisiveShown:
        actions.kind === 'decide'
          ? actions.approvable && rendered.decisiveShown
          : sql`${deliveries.decisiveShown}`,
      // Without buttons only once the platform has taken it.
      ...(actions.kind === 'none' ? {} : { hasButtons: true }),
    })
    .where(and(holdsLease(due), sql`${deliveries.leaseUntil} > ${CLOCK}`))
    .returning({ id: deliveries.id });
  if (held.length === 0) return false;
  const kept = { locale: card.locale, digest, payload: rendered.payload, at: CLOCK };
  // What went out before is never written over: a changed time zone or address draws the same version otherwise.
  await connection
    .insert(renderedCards)
    .values({ deliveryId: due.id, version: card.version, ...kept })
    .onConflictDoUpdate({
      target: [renderedCards.deliveryId, renderedCards.version, renderedCards.digest],
      set: { at: CLOCK },
    });
  return true;
}

async function release(connection: Connection, due: DueDelivery): Promise<void> {
  await connection
    .update(deliveries)
    .set({
      leaseUntil: null,
      unconfirmedSends:
        due.task === 'send' ? sql`${deliveries.unconfirmedSends} - 1` : sql`${deliveries.unconfirmedSends}`,
    })
    .where(holdsLease(due));
}
