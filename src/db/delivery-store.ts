import { randomBytes } from 'node:crypto';
import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import type { DeliveryOnRecord } from '../channel/delivery-on-record.ts';
import type { CardPlace } from '../confirmation/card-places.ts';
import type { PersonRef } from '../confirmation/confirmation-request.ts';
import type { DeliveryRecord } from '../confirmation/delivery-record.ts';
import type { Reached } from '../confirmation/ledger.ts';
import type { SeenCard } from '../confirmation/seen-card.ts';
import type { TapDeliveries } from '../confirmation/tap-delivery.ts';
import { type ConfirmationId, newDeliveryId } from '../ids.ts';
import type { Connection, Database } from './database.ts';
import { preparedPerConnection } from './prepared-per-connection.ts';
import { deliveries, renderedCards } from './schema/deliveries.ts';

/**
 * Queues one card a place, in the transaction that stores the request or adds to those whom it asks; a place that has
 * one keeps it. Notify the topic `confirmation` after the commit. One statement with one text, however many places.
 */
export async function insertDeliveries(
  connection: Connection,
  input: {
    readonly confirmationId: ConfirmationId;
    readonly places: readonly CardPlace[];
    /** When they are made; null: at this moment. */
    readonly at: Date | null;
  },
): Promise<void> {
  if (input.places.length === 0) return;
  const places = input.places.map(({ channel, address, direct }) => ({
    id: newDeliveryId(),
    channel_id: channel,
    ...address,
    person_id: direct?.person.id,
    person_name: direct?.person.name,
    person_ids: direct?.ids,
    token: newToken(),
  }));
  // A delivery's first message goes by the delivery's own id.
  await connection.execute(sql`
    insert into deliveries (id, issue_id, confirmation_id, channel_id, provider, app, tenant, chat, person_id,
                            person_name, person_ids, token, next_attempt_at, at, created_at)
    select place.id, place.id, ${input.confirmationId}::uuid, channel_id, provider, app, tenant, chat, person_id,
           person_name, person_ids, token, clock.now, clock.now, clock.now
    from jsonb_to_recordset(${JSON.stringify(places)}::text::jsonb) as place (
           id uuid, channel_id text, provider text, app text, tenant text, chat text, person_id text,
           person_name text, person_ids jsonb, token text),
         (select coalesce(${input.at?.toISOString() ?? null}::timestamptz, clock_timestamp()) as now) as clock
    on conflict do nothing`);
}

/**
 * Asks for every card of a request to show at least `version`, in the transaction that made the version. A card that
 * was given up on is tried again. Notify the topic `delivery` after the commit.
 */
export async function wantVersion(
  connection: Connection,
  confirmationId: ConfirmationId,
  version: number,
): Promise<void> {
  await connection.execute(
    sql`with changed as (select ${confirmationId}::uuid as id, ${version}::integer as version) ${CARDS_FOLLOW}`,
  );
}

/** The same as part of the statement that makes the versions, for the rows of a CTE `changed` with `id` and `version`. */
export const CARDS_FOLLOW = sql.raw(`
  update deliveries
  set wanted_version = greatest(deliveries.wanted_version, changed.version), attempts = 0,
      next_attempt_at = clock_timestamp()
  from changed
  where deliveries.confirmation_id = changed.id and deliveries.state <> 'failed'`);

/**
 * Whether a card of the request stands or may stand in any chat. Locks the deliveries, so that none can begin to be
 * sent before the surrounding transaction ends: what is asked before a request is closed as undeliverable.
 */
export async function readReached(connection: Connection, confirmationId: ConfirmationId): Promise<Reached> {
  const rows = await connection
    .select({
      state: deliveries.state,
      messageIds: deliveries.messageIds,
      retiredMessageIds: deliveries.retiredMessageIds,
      unconfirmedSends: deliveries.unconfirmedSends,
    })
    .from(deliveries)
    .where(eq(deliveries.confirmationId, confirmationId))
    .orderBy(deliveries.id)
    .for('update');
  const moving = rows.filter(({ retiredMessageIds }) => retiredMessageIds.length > 0);
  if (rows.some(({ messageIds }) => messageIds.length > 0)) return 'somebody';
  // Its new message is on the way.
  if (moving.some(({ state }) => state !== 'failed')) return 'somebody';
  if (rows.some(({ unconfirmedSends }) => unconfirmedSends > 0)) return 'perhaps';
  if (moving.length > 0) return 'lost';
  return rows.every(({ state }) => state === 'failed') ? 'refused' : 'not-yet';
}

/** The cards of several requests as API and record show them; a request without cards has an empty list. */
export async function deliveriesOf(
  connection: Connection,
  ids: readonly ConfirmationId[],
): Promise<ReadonlyMap<ConfirmationId, readonly DeliveryRecord[]>> {
  const byConfirmation = new Map<ConfirmationId, DeliveryRecord[]>(ids.map((id) => [id, []]));
  if (ids.length === 0) return byConfirmation;
  const rows = await connection
    .select()
    .from(deliveries)
    .where(inArray(deliveries.confirmationId, [...ids]))
    .orderBy(deliveries.createdAt, deliveries.channelId, sql`${deliveries.personId} nulls first`);
  for (const row of rows) {
    byConfirmation.get(row.confirmationId)?.push({
      channel: row.channelId,
      person: personOf(row),
      state: row.state,
      messageIds: [...row.retiredMessageIds, ...row.messageIds],
      at: row.at,
      error: row.error,
    });
  }
  return byConfirmation;
}

/** The delivery whose card carries this token; null where none does. */
export async function findDeliveryByToken(
  connection: Connection,
  token: string,
): Promise<DeliveryOnRecord | null> {
  const [row] = await selectByToken(connection).execute({ token });
  if (!row) return null;
  const { id, confirmationId, channelId, provider, app, tenant, chat, decisiveShown } = row;
  const { messageIds, retiredMessageIds } = row;
  return {
    id,
    confirmationId,
    channel: channelId,
    person: row.personId,
    address: { provider, app, tenant, chat },
    messageIds,
    retiredMessageIds,
    decisiveShown,
  };
}

const selectByToken = preparedPerConnection((connection) =>
  connection
    .select()
    .from(deliveries)
    .where(eq(deliveries.token, sql.placeholder('token')))
    .prepare('delivery_by_token'),
);

/**
 * Takes the message id of a verified callback for a delivery that knows none, or that may stand in the chat more
 * often than it knows (a send whose answer was lost). The card is then brought up to date. False: the message is not
 * this delivery's, or another delivery's.
 */
export async function adoptMessage(
  connection: Connection,
  { delivery, chat, messageId }: Parameters<TapDeliveries['adoptMessage']>[0],
): Promise<boolean> {
  const taken = connection
    .select({ one: sql`1` })
    .from(sql`${deliveries} as other`)
    .where(
      sql`other.message_ids[1] = ${messageId} and other.id <> ${delivery} and other.chat = ${chat}
        and other.channel_id = ${deliveries.channelId}`,
    );
  const adopted = await connection
    .update(deliveries)
    .set({
      state: 'sent',
      chat,
      messageIds: sql`array_append(${deliveries.messageIds}, ${messageId})`,
      unconfirmedSends: sql`greatest(${deliveries.unconfirmedSends} - 1, 0)`,
      // Nobody knows which version that message shows.
      shownVersion: 0,
      hasButtons: true,
      issuedAt: sql`coalesce(${deliveries.issuedAt}, ${deliveries.createdAt})`,
      attempts: 0,
      nextAttemptAt: sql`clock_timestamp()`,
      at: sql`clock_timestamp()`,
      error: null,
    })
    .where(
      and(
        eq(deliveries.id, delivery),
        sql`${deliveries.chat} in ('', ${chat})`,
        sql`not ${messageId} = any(${deliveries.messageIds} || ${deliveries.retiredMessageIds})`,
        sql`(cardinality(${deliveries.messageIds}) = 0 or ${deliveries.unconfirmedSends} > 0)`,
        sql`not exists (${taken})`,
      ),
    )
    .returning({ id: deliveries.id });
  return adopted.length > 0;
}

/** The card as it last went out in `version`, or in the version that the platform took last; null where none did. */
async function findSeenCard(
  connection: Connection,
  { delivery, version }: Parameters<TapDeliveries['seenCard']>[0],
): Promise<SeenCard | null> {
  const [card] = await selectSeenCard(connection).execute({ delivery, version });
  return card ?? null;
}

const selectSeenCard = preparedPerConnection((connection) =>
  connection
    .select({
      delivery: renderedCards.deliveryId,
      version: renderedCards.version,
      digest: renderedCards.digest,
      locale: renderedCards.locale,
      at: renderedCards.at,
    })
    .from(renderedCards)
    .innerJoin(deliveries, eq(deliveries.id, renderedCards.deliveryId))
    .where(
      and(
        eq(renderedCards.deliveryId, sql.placeholder('delivery')),
        sql`${renderedCards.version} = coalesce(${sql.placeholder('version')}::integer, ${deliveries.shownVersion})`,
      ),
    )
    .orderBy(desc(renderedCards.at))
    .limit(1)
    .prepare('seen_card'),
);

/** The deliveries as the tap handler compares callbacks with them. */
export const createTapDeliveries = ({ connection }: Pick<Database, 'connection'>): TapDeliveries => ({
  findByToken: (token) => findDeliveryByToken(connection, token),
  adoptMessage: (input) => adoptMessage(connection, input),
  seenCard: (input) => findSeenCard(connection, input),
});

/** Who was written to directly; null: nobody. */
export const personOf = ({
  personId: id,
  personName: name,
}: Pick<typeof deliveries.$inferSelect, 'personId' | 'personName'>): PersonRef | null =>
  id === null ? null : { id, name: name ?? id };

/** 128 bits in base64url: names a card in its own buttons, and cannot be guessed. */
const newToken = (): string => randomBytes(16).toString('base64url');
