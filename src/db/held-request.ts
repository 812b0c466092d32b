import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
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
}

/** The one reading of the database clock of a guarded change. */
export const NOW = sql`clock.now`;
/** The same in milliseconds, as it is written down. */
export const STAMP = sql`date_trunc('milliseconds', clock.now)`;
/** A duration of the frozen policy; a policy frozen before there was such a key has none. */
export const policyInterval = (key: string): SQL =>
  sql`make_interval(secs => coalesce((${confirmations.policy} ->> ${sql.raw(`'${key}'`)})::numeric::float8, 0) / 1000.0)`;

const columns = getTableColumns(confirmations);

/**
 * Changes a held request where the guard allows it, with the wish for new cards: one statement, one reading of the
 * clock, all of it or nothing. What the guard compared with a time is what is written down as the time. Null: the
 * guard refused.
 */
export async function changeHeld(
  connection: Connection,
  held: HeldRequest,
  { set, guard, shows }: GuardedChange,
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
      clockText: sql`${CLOCK_TEXT(NOW)}`.as('clock_text'),
    });
  const [changed] = await rowsOf<Record<string, unknown>>(
    connection,
    sql`with clock as materialized (select clock_timestamp() as now),
      changed as ${update}
      ${shows ? sql`, cards as (${CARDS_FOLLOW})` : sql``}
      select * from changed`,
  );
  if (!changed) return null;
  return {
    row: changedRow(held.row, changedKeys, changed),
    votes: held.votes,
    chain: held.chain && { ...held.chain, at: changed.clock_text as string },
  };
}

/** The row with the values that a statement gave back for some of its columns, by their names in the database. */
export function changedRow(
  row: ConfirmationRow,
  keys: readonly (keyof typeof columns)[],
  changed: Readonly<Record<string, unknown>>,
): ConfirmationRow {
  const after = keys.map((key) => {
    const value = changed[columns[key].name];
    return [key, value === null ? null : columns[key].mapFromDriverValue(value)];
  });
  return { ...row, ...Object.fromEntries(after) };
}
