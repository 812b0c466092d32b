import { type SQL, sql } from 'drizzle-orm';
import type { Unreached } from '../channel/delivery-outbox.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Connection } from './database.ts';
import { frozenInterval } from './frozen-interval.ts';
import { confirmations, votes } from './schema/confirmations.ts';
import { deliveries } from './schema/deliveries.ts';

const BATCH = 100;

/**
 * Pending requests of which no card stands in a chat, where every card was refused for good or the time for it is
 * over: the policy's `fallbackAfter` and `deliveryTimeout`, where it has a fallback that was not asked yet; otherwise
 * `deliveryTimeout` alone, from the moment at which the last channels were asked, with no card possibly sent and no
 * vote. Whoever acts on it checks again, holding the rows.
 */
export async function findUnreached(
  connection: Connection,
  only: ConfirmationId | null,
): Promise<readonly Unreached[]> {
  const { policy, createdAt, reroutedAt } = confirmations;
  const refused = sql`bool_and(${deliveries.state} = 'failed')`;
  const asked = sql`coalesce(${reroutedAt}, ${createdAt})`;
  const timedOut = isOver(asked, sql`${policy} -> 'deliveryTimeoutMs'`);
  const fallback = sql`jsonb_typeof(${policy} -> 'fallback') = 'object' and ${reroutedAt} is null`;
  const fallbackDue = isOver(createdAt, sql`${policy} -> 'fallback' -> 'afterMs'`);
  /** One that did, and whose new message was refused, reaches nobody any more, but was sent. */
  const neverStood = sql`cardinality(${deliveries.retiredMessageIds}) = 0`;
  const voted = sql`exists (select 1 from ${votes} where ${votes.confirmationId} = ${confirmations.id})`;
  const rows = await connection
    .select({
      id: confirmations.id,
      rerouted: sql<boolean>`${reroutedAt} is not null`,
      refused: sql<boolean>`${refused}`,
      timedOut: sql<boolean>`${timedOut}`,
    })
    .from(confirmations)
    .innerJoin(deliveries, sql`${deliveries.confirmationId} = ${confirmations.id}`)
    .where(
      sql`${confirmations.status} = 'pending' and ${only === null ? sql`true` : sql`${confirmations.id} = ${only}`}
        and ${confirmations.id} in (select unshown.confirmation_id from ${deliveries} as unshown where ${hasNoMessage})`,
    )
    .groupBy(confirmations.id)
    .having(
      sql`bool_and(cardinality(${deliveries.messageIds}) = 0 and (${neverStood} or ${deliveries.state} = 'failed'))
        and case when ${fallback} then ${refused} or ${timedOut} or ${fallbackDue}
            else (${refused} or ${timedOut}) and bool_and(${deliveries.unconfirmedSends} = 0 and ${neverStood})
              and not ${voted} end`,
    )
    .limit(BATCH);
  return rows.map(({ id, rerouted, refused: allRefused, timedOut: late }) => ({
    confirmationId: id as ConfirmationId,
    reason: allRefused ? 'channels_refused' : late ? 'delivery_timeout' : 'fallback_due',
    rerouted,
  }));
}

/** As the index on the first message has it: few have none, and of those with cards in chats none is read. */
const hasNoMessage = sql`unshown.message_ids[1] is null`;

/** Whether a time of the frozen policy has passed since; false where the policy has no such time. */
const isOver = (since: SQL | typeof confirmations.createdAt, frozen: SQL): SQL<boolean> =>
  sql`coalesce(${since} + ${frozenInterval(frozen)} <= clock_timestamp(), false)`;
