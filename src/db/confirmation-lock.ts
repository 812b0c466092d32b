import { eq, sql } from 'drizzle-orm';
import { chainOf } from '../audit/event-hash.ts';
import type { LockedRequest } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import { CLOCK_TEXT } from './audit-store.ts';
import { type ConfirmationRow, confirmationOf, type VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import type { HeldRequest } from './held-request.ts';
import { preparedPerConnection } from './prepared-per-connection.ts';
import { readable } from './readable.ts';
import { auditChains } from './schema/audit.ts';
import { confirmations, votes } from './schema/confirmations.ts';

export interface LockedRow {
  readonly request: LockedRequest;
  readonly held: HeldRequest;
}

/** Locks a request, then reads the clock, its votes and the end of its chain. Null where there is none. */
export async function lockConfirmation(
  connection: Connection,
  id: ConfirmationId,
): Promise<LockedRow | null> {
  const [row] = await lockRow(connection).execute({ id });
  if (!row) return null;
  // A statement of its own: only after the lock was granted does the clock count, and are the votes complete.
  const behind = await readBehindLock(connection).execute({ ids: [id], chains: [chainOfRequest(id)] });
  return lockedRow(row, behind);
}

/**
 * The same for those requests of `ids` that nobody holds, neither the row nor the end of its chain; waits for none.
 * One that is held by somebody else, has no chain or cannot be read is not among the results; its row stays locked all
 * the same.
 */
export async function lockFreeConfirmations(
  connection: Connection,
  ids: readonly ConfirmationId[],
): Promise<readonly LockedRow[]> {
  const rows = await lockFreeRows(connection).execute({ ids });
  if (rows.length === 0) return [];
  const behind = await readBehindFreeLock(connection).execute({
    ids: rows.map(({ id }) => id),
    chains: rows.map(({ id }) => chainOfRequest(id)),
  });
  const locked = readable(rows, (row) =>
    lockedRow(
      row,
      behind.filter(({ id }) => id === row.id),
    ),
  );
  return locked.read.filter(({ held }) => held.chain !== null);
}

const chainOfRequest = (confirmation: string): string => chainOf({ confirmation, run: null });

interface BehindLock extends Omit<LockedRequest, 'request' | 'now' | 'toolWrites' | 'connector'> {
  readonly nowMs: number;
  readonly clockText: string;
  readonly chainLength: number | null;
  readonly chainHead: string | null;
  readonly vote: VoteRow | null;
}

/** From the row and what was read behind its lock: one entry a vote, or one without. */
function lockedRow(row: ConfirmationRow, behind: readonly BehindLock[]): LockedRow {
  const [first] = behind;
  if (!first) throw new Error(`Confirmation ${row.id} has gone while it was locked`);
  const { chainLength: length, chainHead: head, clockText: at } = first;
  const voteRows = behind.flatMap(({ vote }) => vote ?? []);
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

/** The requests, and the chain of each in the same place. */
const IDS = sql`${sql.placeholder('ids')}::uuid[]`;
const CHAINS = sql`${sql.placeholder('chains')}::text[]`;

const lockFreeRows = preparedPerConnection((connection) =>
  connection
    .select()
    .from(confirmations)
    .where(sql`${confirmations.id} = any(${IDS})`)
    .orderBy(confirmations.id)
    .for('update', { skipLocked: true })
    .prepare('lock_free_confirmations'),
);

const readBehindLock = preparedPerConnection((connection) =>
  prepareReadBehind(connection, { skipLocked: false, name: 'read_behind_lock' }),
);
const readBehindFreeLock = preparedPerConnection((connection) =>
  prepareReadBehind(connection, { skipLocked: true, name: 'read_behind_free_lock' }),
);

function prepareReadBehind(
  connection: Connection,
  { skipLocked, name }: { readonly skipLocked: boolean; readonly name: string },
) {
  // Whoever adds to the chain of this request waits here already: the clock is read once its end is ours.
  const chain = connection.$with('chain').as(
    connection
      .select({ chain: auditChains.chain, length: auditChains.length, head: auditChains.head })
      .from(auditChains)
      .where(sql`${auditChains.chain} = any(${CHAINS})`)
      .orderBy(auditChains.chain)
      .for('update', skipLocked ? { skipLocked } : {}),
  );
  return connection
    .with(chain)
    .select({
      id: confirmations.id,
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
    .leftJoin(chain, sql`${chain.chain} = (${CHAINS})[array_position(${IDS}, ${confirmations.id})]`)
    .leftJoin(votes, eq(votes.confirmationId, confirmations.id))
    .where(sql`${confirmations.id} = any(${IDS})`)
    .orderBy(confirmations.id, votes.at, votes.id)
    .prepare(name);
}
