import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import type { CardRecord, CardRecords } from '../confirmation/card-record.ts';
import { CountersignError } from '../errors.ts';
import type { Database } from './database.ts';
import { personOf } from './delivery-store.ts';
import { auditEvents } from './schema/audit.ts';
import { deliveries, renderedCards } from './schema/deliveries.ts';

/** Reads `rendered_cards`, and from the record which messages came to show each. */
export const createCardRecords = ({ connection }: Pick<Database, 'connection'>): CardRecords => ({
  async list({ confirmation, limit, cursor }) {
    const found = await connection
      .select({
        delivery: renderedCards.deliveryId,
        channel: deliveries.channelId,
        personId: deliveries.personId,
        personName: deliveries.personName,
        messageIds: DELIVERED_IN,
        version: renderedCards.version,
        locale: renderedCards.locale,
        digest: renderedCards.digest,
        payload: renderedCards.payload,
        at: renderedCards.at,
      })
      .from(renderedCards)
      .innerJoin(deliveries, eq(deliveries.id, renderedCards.deliveryId))
      .where(
        and(eq(deliveries.confirmationId, confirmation), cursor === undefined ? undefined : after(cursor)),
      )
      // The primary key: a card that goes out again meanwhile keeps its place.
      .orderBy(asc(renderedCards.deliveryId), asc(renderedCards.version), asc(renderedCards.digest))
      .limit(limit + 1);
    const items = found
      .slice(0, limit)
      .map(({ personId, personName, ...card }) => ({ ...card, person: personOf({ personId, personName }) }));
    const last = items.at(-1);
    return { items, nextCursor: found.length > limit && last ? cursorOf(last) : null };
  },
});

const DELIVERED_IN = sql<string[]>`array(
  select distinct message
  from ${auditEvents}, jsonb_array_elements_text(${auditEvents.data} -> 'messageIds') as message
  where ${auditEvents.confirmationId} = ${deliveries.confirmationId}
    and ${auditEvents.kind} = 'card.delivered'
    and ${auditEvents.data} ->> 'delivery' = ${deliveries.id}::text
    and ${auditEvents.data} ->> 'version' = ${renderedCards.version}::text
    and ${auditEvents.data} ->> 'digest' = ${renderedCards.digest}
  order by message)`;

const cursorOf = ({ delivery, version, digest }: CardRecord): string =>
  Buffer.from(`${delivery} ${version} ${digest}`).toString('base64url');

/** Exactly what `cursorOf` writes: whatever else a client sends must not reach the database's own parsers. */
const CURSOR = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) (\d{1,9}) (sha256:[0-9a-f]{64})$/;

function after(cursor: string): SQL {
  const [, delivery, version, digest] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? [];
  if (delivery === undefined) {
    throw new CountersignError(
      'invalid_request',
      'The cursor is not one that this service gave out; leave it out.',
    );
  }
  return sql`(${renderedCards.deliveryId}, ${renderedCards.version}, ${renderedCards.digest})
    > (${delivery}::uuid, ${version}::integer, ${digest})`;
}
