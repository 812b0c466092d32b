import { eq, sql } from 'drizzle-orm';
import type { LockedRequest } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import { confirmationOf, type VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { confirmations, votes } from './schema/confirmations.ts';

/** Locks a request, then reads the clock and its votes. Null where there is none. */
export async function lockConfirmation(
  connection: Connection,
  id: ConfirmationId,
): Promise<{ readonly request: LockedRequest; readonly votes: readonly VoteRow[] } | null> {
  const [row] = await connection.select().from(confirmations).where(eq(confirmations.id, id)).for('update');
  if (!row) return null;
  // A statement of its own: only after the lock was granted does the clock count, and are the votes complete.
  const after = await connection
    .select({
      late: sql<boolean>`clock_timestamp() >= ${confirmations.decideBy}`,
      nowMs: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`,
      window: sql<LockedRequest['window']>`case
        when ${confirmations.executeBy} is null then 'none'
        when clock_timestamp() < ${confirmations.executableFrom} then 'before'
        when clock_timestamp() < ${confirmations.executeBy} then 'open'
        else 'over' end`,
      opensInMs: sql<number>`ceil(greatest(0, coalesce(
        extract(epoch from ${confirmations.executableFrom} - clock_timestamp()) * 1000, 0)))::float8`,
      settleInMs: sql<number>`ceil(greatest(0, coalesce(
        extract(epoch from ${confirmations.settleFrom} - clock_timestamp()) * 1000, 0)))::float8`,
      vote: votes,
    })
    .from(confirmations)
    .leftJoin(votes, eq(votes.confirmationId, confirmations.id))
    .where(eq(confirmations.id, id))
    .orderBy(votes.at, votes.id);
  const [first] = after;
  if (!first) throw new Error(`Confirmation ${id} has gone while it was locked`);
  const voteRows = after.flatMap(({ vote }) => vote ?? []);
  return {
    votes: voteRows,
    request: {
      request: confirmationOf(row, voteRows),
      late: first.late,
      now: new Date(first.nowMs),
      window: first.window,
      opensInMs: first.opensInMs,
      settleInMs: first.settleInMs,
      toolWrites: row.toolWrites,
      connector: row.connector,
    },
  };
}
