import { and, eq, inArray, lte, or, sql } from 'drizzle-orm';
import type { DeliveryOutbox, DueDelivery } from '../channel/delivery-outbox.ts';
import type { Connection, Database } from './database.ts';
import { DIRECT_COLUMNS, directOf, holdsLease } from './delivery-lease.ts';
import { recordDeliveryResult } from './delivery-result.ts';
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
    unreached: (confirmation) => findUnreached(connection, confirmation ?? null),
  };
}

async function claim(
  connection: Connection,
  { channel, limit, leaseMs }: Parameters<DeliveryOutbox['claim']>[0],
): Promise<readonly DueDelivery[]> {
  const due = connection
    .select({ id: deliveries.id })
    .from(deliveries)
    .where(
      and(
        eq(deliveries.channelId, channel),
        lte(deliveries.nextAttemptAt, CLOCK),
        or(
          inArray(deliveries.state, ['queued', 'uncertain']),
          and(eq(deliveries.state, 'sent'), sql`${deliveries.shownVersion} < ${deliveries.wantedVersion}`),
        ),
        sql`coalesce(${deliveries.leaseUntil} <= ${CLOCK}, true)`,
      ),
    )
    .orderBy(sql`${deliveries.state} <> 'sent'`, deliveries.nextAttemptAt)
    .limit(limit)
    .for('update', { skipLocked: true });
  const sends = sql`${deliveries.state} <> 'sent'`;
  const claimed = await connection
    .update(deliveries)
    .set({
      leaseUntil: sql`${CLOCK} + make_interval(secs => ${leaseMs / 1000}::float8)`,
      // A send that began and never came back leaves its mark here: the card may stand in the chat.
      state: sql`case when ${deliveries.state} = 'queued' and ${deliveries.unconfirmedSends} > 0
                 then 'uncertain' else ${deliveries.state} end`,
      unconfirmedSends: sql`${deliveries.unconfirmedSends} + case when ${sends} then 1 else 0 end`,
    })
    // An array, not `in (…)`: the planner may run a joined sub-query more than once, and would lock beyond the limit.
    .where(sql`${deliveries.id} = any(array(${due}))`)
    .returning({ ...CLAIMED, lease: sql<string>`${deliveries.leaseUntil}::text` });
  return claimed.map(dueDeliveryOf);
}

const CLAIMED = {
  id: deliveries.id,
  confirmationId: deliveries.confirmationId,
  channel: deliveries.channelId,
  token: deliveries.token,
  ...DIRECT_COLUMNS,
  state: deliveries.state,
  messageIds: deliveries.messageIds,
  attempts: deliveries.attempts,
  unconfirmedSends: deliveries.unconfirmedSends,
  wantedVersion: deliveries.wantedVersion,
};

function dueDeliveryOf(row: {
  readonly id: DueDelivery['id'];
  readonly confirmationId: DueDelivery['confirmationId'];
  readonly channel: DueDelivery['channel'];
  readonly token: string;
  readonly personIds: Readonly<Record<string, string>> | null;
  readonly chat: string;
  readonly state: string;
  readonly messageIds: readonly string[];
  readonly attempts: number;
  readonly unconfirmedSends: number;
  readonly wantedVersion: number;
  readonly lease: string;
}): DueDelivery {
  const { id, confirmationId, channel, token, lease, wantedVersion } = row;
  const common = {
    id,
    confirmationId,
    channel,
    token,
    direct: directOf(row),
    lease,
    wantedVersion,
    failedAttempts: row.attempts,
  };
  return row.state === 'sent'
    ? { ...common, task: 'update', messageIds: row.messageIds }
    : { ...common, task: 'send', attempt: row.unconfirmedSends };
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
