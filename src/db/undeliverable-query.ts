import { sql } from 'drizzle-orm';
import type { Undeliverable } from '../channel/delivery-outbox.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Connection } from './database.ts';
import { confirmations, votes } from './schema/confirmations.ts';
import { deliveries } from './schema/deliveries.ts';

const BATCH = 100;

/**
 * Pending requests without a vote, none of whose cards was sent or possibly sent, where every channel refused for
 * good or the policy's `deliveryTimeout` is over. Whoever closes one checks again, holding its rows.
 */
export async function findUndeliverable(
  connection: Connection,
  only: ConfirmationId | null,
): Promise<readonly Undeliverable[]> {
  const allRefused = sql`bool_and(${deliveries.state} = 'failed')`;
  const timeout = sql`make_interval(secs => (${confirmations.policy} ->> 'deliveryTimeoutMs')::numeric::float8 / 1000.0)`;
  const rows = await connection
    .select({ id: confirmations.id, refused: sql<boolean>`${allRefused}` })
    .from(confirmations)
    .innerJoin(deliveries, sql`${deliveries.confirmationId} = ${confirmations.id}`)
    .where(
      sql`${confirmations.status} = 'pending' and ${only === null ? sql`true` : sql`${confirmations.id} = ${only}`}
        and not exists (select 1 from ${votes} where ${votes.confirmationId} = ${confirmations.id})`,
    )
    .groupBy(confirmations.id)
    .having(
      sql`bool_and(cardinality(${deliveries.messageIds} || ${deliveries.retiredMessageIds}) = 0 and ${deliveries.unconfirmedSends} = 0)
        and (${allRefused} or ${confirmations.createdAt} + ${timeout} <= clock_timestamp())`,
    )
    .limit(BATCH);
  return rows.map(({ id, refused }) => ({
    confirmationId: id as ConfirmationId,
    reason: refused ? 'channels_refused' : 'delivery_timeout',
  }));
}
