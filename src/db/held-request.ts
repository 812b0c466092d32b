import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import { v7 as uuidv7 } from 'uuid';
import type { NewVote } from '../confirmation/ledger.ts';
import { type ChainEnd, CLOCK_TEXT } from './audit-store.ts';
import type { ConfirmationRow, VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { CARDS_FOLLOW } from './delivery-store.ts';
import { rowsOf } from './rows-of.ts';
import { confirmations } from './schema/confirmations.ts';

/** A request whose row the open transaction has locked: nobody else can change it, or add to its votes. */
export interface HeldRequest {
  readonly row: ConfirmationRow;
  readonly votes: readonly VoteRow[];
  /** Where the chain of its events ends, locked as well; null where it was not read. */
  readonly chain: ChainEnd | null;
}

export interface GuardedChange {
  readonly set: PgUpdateSetSource<typeof confirmations>;
  /** What must hold of the row, and of the clock (`NOW`), for the change to be made. */
  readonly guard: SQL | undefined;
  /** Whether cards show the change: then the version grows, and the cards of the request follow. */
  readonly shows: boolean;
  readonly vote: NewVote | null;
}

/** The one reading of the database clock of a guarded change. */
export const NOW = sql`clock.now`;
/** The same in milliseconds, as it is written down. */
export const STAMP = sql`date_trunc('milliseconds', clock.now)`;

const columns = getTableColumns(confirmations);

/**
 * Changes a held request where the guard allows it, with the vote that changes it and the wish for new cards: one
 * statement, one reading of the clock, all of it or nothing. What the guard compared with the deadline is what is
 * written down as the time. Null: the guard refused.
 */
export async function changeHeld(
  connection: Connection,
  held: HeldRequest,
  { set, guard, shows, vote }: GuardedChange,
): Promise<HeldRequest | null> {
  const { id } = held.row;
  const change = { ...set, ...(shows ? { version: sql`${confirmations.version} + 1` } : {}) };
  const changedKeys = Object.keys(change) as (keyof typeof columns)[];
  const update = connection
    .update(confirmations)
    .set(change)
    .from(sql`clock`)
    .where(and(eq(confirmations.id, id), guard))
    .returning({
      id: confirmations.id,
      ...Object.fromEntries(changedKeys.map((key) => [key, columns[key]])),
      votedAt: sql`${STAMP}`.as('voted_at'),
      clockText: sql`${CLOCK_TEXT(NOW)}`.as('clock_text'),
    });
  const [changed] = await rowsOf<Record<string, unknown>>(
    connection,
    sql`with clock as materialized (select clock_timestamp() as now),
      changed as ${update}
      ${vote === null ? sql`` : sql`, cast_vote as (${insertVote(vote)})`}
      ${shows ? sql`, cards as (${CARDS_FOLLOW})` : sql``}
      select * from changed`,
  );
  if (!changed) return null;
  const after = changedKeys.map((key) => {
    const value = changed[columns[key].name];
    return [key, value === null ? null : columns[key].mapFromDriverValue(value)];
  });
  return {
    row: { ...held.row, ...Object.fromEntries(after) },
    votes: vote === null ? held.votes : [...held.votes, castVote(vote, new Date(changed.voted_at as string))],
    chain: held.chain && { ...held.chain, at: changed.clock_text as string },
  };
}

/** The vote as a row of `votes`; nothing where the guard refused the change that it makes. */
const insertVote = (vote: NewVote): SQL => sql`
  insert into votes (id, confirmation_id, person_id, person_name, seat_id, seat_name, verdict, reason, channel,
                     args_digest, seen_delivery_id, seen_version, seen_digest, seen_locale, seen_at, at)
  select ${uuidv7()}::uuid, changed.id, ${vote.person.id}::text, ${vote.person.name}::text, ${vote.seat.id}::text,
         ${vote.seat.name}::text, ${vote.verdict}::text, ${vote.reason}::text, ${vote.channel}::text,
         ${vote.argsDigest}::text, ${vote.seen?.delivery ?? null}::uuid, ${vote.seen?.version ?? null}::integer,
         ${vote.seen?.digest ?? null}::text, ${vote.seen?.locale ?? null}::text,
         ${vote.seen?.at.toISOString() ?? null}::timestamptz, changed.voted_at
  from changed`;

const castVote = (vote: NewVote, at: Date): VoteRow => ({
  personId: vote.person.id,
  personName: vote.person.name,
  seatId: vote.seat.id,
  seatName: vote.seat.name,
  verdict: vote.verdict,
  reason: vote.reason,
  channel: vote.channel,
  at,
  seenDelivery: vote.seen?.delivery ?? null,
  seenVersion: vote.seen?.version ?? null,
  seenDigest: vote.seen?.digest ?? null,
  seenLocale: vote.seen?.locale ?? null,
  seenAt: vote.seen?.at ?? null,
});
