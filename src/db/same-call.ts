import { and, asc, eq, or, sql } from 'drizzle-orm';
import type { SameCall } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Connection } from './database.ts';
import { confirmations } from './schema/confirmations.ts';

/**
 * The requests about one call that are pending or approved and unused, oldest first. Whoever asks about the same call
 * at the same moment waits here until this transaction ends, so that of two questions one is the newer.
 */
export async function holdSameCall(
  connection: Connection,
  { apiKeyId, agent, session, callId, tool }: SameCall,
): Promise<readonly ConfirmationId[]> {
  const name = JSON.stringify([apiKeyId, agent, session, callId, tool]);
  await connection.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
  const rows = await connection
    .select({ id: confirmations.id })
    .from(confirmations)
    .where(
      and(
        eq(confirmations.apiKeyId, apiKeyId),
        eq(confirmations.session, session),
        eq(confirmations.callId, callId),
        eq(confirmations.agent, agent),
        eq(confirmations.tool, tool),
        or(eq(confirmations.status, 'pending'), eq(confirmations.executionStatus, 'unclaimed')),
      ),
    )
    .orderBy(asc(confirmations.id));
  return rows.map(({ id }) => id as ConfirmationId);
}
