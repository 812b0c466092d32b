import { eq, sql } from 'drizzle-orm';
import { chainOf } from '../audit/event-hash.ts';
import type { LockedRequest } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import { CLOCK_TEXT } from './audit-store.ts';
import { confirmationOf } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import type { HeldRequest } from './held-request.ts';
import { preparedPerConnection } from './prepared-per-connection.ts';
import { auditChains } from './schema/audit.ts';
import { confirmations, votes } from './schema/confirmations.ts';

/** Locks a request, then reads the clock, its votes and the end of its chain. Null where there is none. */
export async function lockConfirmation(
  connection: Connection,
  id: ConfirmationId,
): Promise<{ readonly request: LockedRequest; readonly held: HeldRequest } | null> {
  const [row] = await lockRow(connection).execute({ id });
  if (!row) return null;
  // A statement of its own: only after the lock was granted does the clock count, and are the votes complete.
  const after = await readBehindLock(connection).execute({
    id,
    chain: chainOf({ confirmation: id, run: null }),
  });
  const [first] = after;
  if (!first) throw new Error(`Confirmation ${id} has gone while it was locked`);
  const { chainLength: length, chainHead: head, clockText: at } = first;
  const voteRows = after.flatMap(({ vote }) => vote ?? []);
  return {
    held: { row, votes: voteRows, chain: length === null || head === null ? null : { length, head, at } },
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

const lockRow = preparedPerConnection((connection) =>
  connection
    .select()
    .from(confirmations)
    .where(eq(confirmations.id, sql.placeholder('id')))
    .for('update')
    .prepare('lock_confirmation'),
);

const readBehindLock = preparedPerConnection((connection) => {
  // Whoever adds to the chain of this request waits here already: the clock is read once its end is ours.
  const chain = connection.$with('chain').as(
    connection
      .select({ length: auditChains.length, head: auditChains.head })
      .from(auditChains)
      .where(eq(auditChains.chain, sql.placeholder('chain')))
      .for('update'),
  );
  return connection
    .with(chain)
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
      clockText: sql<string>`${CLOCK_TEXT(sql`clock_timestamp()`)}`,
      chainLength: chain.length,
      chainHead: chain.head,
      vote: {
        personId: votes.personId,
        personName: votes.personName,
        seatId: votes.seatId,
        seatName: votes.seatName,
        verdict: votes.verdict,
        reason: votes.reason,
        channel: votes.channel,
        at: votes.at,
        seenDelivery: votes.seenDelivery,
        seenVersion: votes.seenVersion,
        seenDigest: votes.seenDigest,
        seenLocale: votes.seenLocale,
        seenAt: votes.seenAt,
      },
    })
    .from(confirmations)
    .leftJoin(chain, sql`true`)
    .leftJoin(votes, eq(votes.confirmationId, confirmations.id))
    .where(eq(confirmations.id, sql.placeholder('id')))
    .orderBy(votes.at, votes.id)
    .prepare('read_behind_lock');
});
