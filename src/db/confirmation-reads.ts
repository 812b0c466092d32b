import { and, asc, desc, eq, gte, ilike, isNotNull, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { ConfirmationFilter, ConfirmationPage } from '../confirmation/confirmation-service.ts';
import type { DueConfirmations, FoundClosed } from '../confirmation/ledger.ts';
import type { UnreadableConfirmation } from '../confirmation/unreadable-confirmation.ts';
import { CountersignError } from '../errors.ts';
import { type ConfirmationId, parseConfirmationId } from '../ids.ts';
import { type ConfirmationRow, confirmationOf, type VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { frozenInterval } from './frozen-interval.ts';
import { isAnyOf } from './is-any-of.ts';
import { preparedPerConnection } from './prepared-per-connection.ts';
import { readable } from './readable.ts';
import { confirmations, votes } from './schema/confirmations.ts';
import { STATEMENT_TIME } from './statement-time.ts';

/** Null where there is none. Throws where its row cannot be read. */
export async function readConfirmation(
  connection: Connection,
  id: ConfirmationId,
): Promise<ConfirmationRequest | null> {
  const [row] = await connection.select().from(confirmations).where(eq(confirmations.id, id));
  if (!row) return null;
  const cast = await votesOf(connection, [row]);
  return confirmationOf(row, cast.get(row.id) ?? []);
}

/** Those of `ids` that are closed, in one statement: what everybody who waits is woken by. */
export async function readClosed(
  connection: Connection,
  ids: readonly ConfirmationId[],
): Promise<FoundClosed> {
  if (ids.length === 0) return { closed: [], unreadable: [] };
  const found = await selectClosed(connection).execute({ ids });
  const castOf = new Map<ConfirmationRow, VoteRow[]>();
  let current: ConfirmationRow | null = null;
  for (const { row, vote } of found) {
    if (current?.id !== row.id) current = row;
    const cast = castOf.get(current) ?? [];
    castOf.set(current, vote === null ? cast : [...cast, vote]);
  }
  const { read, unreadable } = readable(castOf, ([row, cast]) => confirmationOf(row, cast));
  return { closed: read.filter((request) => request.status !== 'pending'), unreadable };
}

/** A row for each vote, or one without; those of one request stand together. */
const selectClosed = preparedPerConnection((connection) =>
  connection
    .select({ row: confirmations, vote: votes })
    .from(confirmations)
    .leftJoin(votes, eq(votes.confirmationId, confirmations.id))
    .where(
      and(
        sql`${confirmations.id} = any(${sql.placeholder('ids')}::uuid[])`,
        ne(confirmations.status, 'pending'),
      ),
    )
    .orderBy(confirmations.id, votes.at, votes.id)
    .prepare('read_closed'),
);

/** A page without the rows that cannot be read, which are told apart: one of them must not hide all the others. */
export async function readPage(
  connection: Connection,
  filter: ConfirmationFilter,
): Promise<ConfirmationPage & { readonly unreadable: readonly UnreadableConfirmation[] }> {
  const found = await connection
    .select()
    .from(confirmations)
    .where(and(...conditionsOf(filter)))
    .orderBy(desc(confirmations.createdAt), desc(confirmations.id))
    .limit(filter.limit + 1);
  const rows = found.slice(0, filter.limit);
  const cast = await votesOf(connection, rows);
  const { read, unreadable } = readable(rows, (row) => confirmationOf(row, cast.get(row.id) ?? []));
  const last = rows.at(-1);
  return { items: read, unreadable, nextCursor: found.length > filter.limit && last ? cursorOf(last) : null };
}

export async function readDue(connection: Connection, limit: number): Promise<DueConfirmations> {
  // In the order of the index that holds them: it is read up to what is not due yet, and never the table.
  const ids = (by: AnyPgColumn, where: SQL | undefined) =>
    connection
      .select({ id: confirmations.id })
      .from(confirmations)
      .where(where)
      .orderBy(asc(by))
      .limit(limit);
  const { status, executionStatus, decideBy, executeBy, claimedAt, sendBy, runId, toolTimeoutMs, policy } =
    confirmations;
  const toExpire = await ids(decideBy, and(eq(status, 'pending'), sql`${decideBy} <= ${STATEMENT_TIME}`));
  const toLapse = await ids(
    executeBy,
    and(eq(executionStatus, 'unclaimed'), sql`${executeBy} <= ${STATEMENT_TIME}`),
  );
  const toAttend = await ids(
    confirmations.nextStepAt,
    and(eq(status, 'pending'), sql`${confirmations.nextStepAt} <= ${STATEMENT_TIME}`),
  );
  // A run's own executor is certain to have stopped trying once `sendBy` and the tool's time-out are over, with some
  // room to record the result. An outside agent has as long as its policy says, and never less than that. A run's call
  // without a time-out is a delegate's run, which is looked after elsewhere (`createAbandonedCallers`).
  const longest = sql`${sendBy} + make_interval(secs => coalesce(${toolTimeoutMs}, 0) / 1000.0 + 5)`;
  const toUnknown = await ids(
    sendBy,
    and(
      eq(executionStatus, 'claimed'),
      // These two are what the index holds.
      sql`(${runId} is null or ${toolTimeoutMs} is not null)`,
      sql`${sendBy} <= ${STATEMENT_TIME}`,
      sql`${longest} <= ${STATEMENT_TIME}`,
      or(
        isNotNull(runId),
        sql`${claimedAt} + ${frozenInterval(sql`${policy} -> 'outcomeWithinMs'`)} <= ${STATEMENT_TIME}`,
      ),
    ),
  );
  const toOpen = await ids(
    confirmations.executableFrom,
    and(
      eq(confirmations.coolingOff, true),
      eq(executionStatus, 'unclaimed'),
      sql`${confirmations.executableFrom} <= ${STATEMENT_TIME}`,
    ),
  );
  const toSettle = await ids(
    confirmations.settleFrom,
    and(
      eq(executionStatus, 'unknown'),
      eq(confirmations.settleOpen, false),
      sql`${confirmations.settleFrom} <= ${STATEMENT_TIME}`,
    ),
  );
  const list = (rows: readonly { readonly id: string }[]) => rows.map((row) => row.id as ConfirmationId);
  return {
    toExpire: list(toExpire),
    toLapse: list(toLapse),
    toUnknown: list(toUnknown),
    toOpen: list(toOpen),
    toSettle: list(toSettle),
    toAttend: list(toAttend),
  };
}

/** The votes on these requests, by the request. */
async function votesOf(
  connection: Connection,
  rows: readonly ConfirmationRow[],
): Promise<ReadonlyMap<string, readonly VoteRow[]>> {
  const byId = new Map<string, VoteRow[]>(rows.map(({ id }) => [id, []]));
  if (rows.length === 0) return byId;
  const found = await connection
    .select()
    .from(votes)
    .where(isAnyOf(votes.confirmationId, [...byId.keys()]))
    .orderBy(votes.at, votes.id);
  for (const vote of found) byId.get(vote.confirmationId)?.push(vote);
  return byId;
}

function conditionsOf(filter: ConfirmationFilter): (SQL | undefined)[] {
  const conditions: (SQL | undefined)[] = [];
  if (filter.status) conditions.push(eq(confirmations.status, filter.status));
  if (filter.execution) conditions.push(eq(confirmations.executionStatus, filter.execution));
  // The outcome of a call that is being run again, or was, is that of the newer request: nothing is left to say here.
  if (filter.execution === 'unknown') conditions.push(isNull(confirmations.supersededBy));
  if (filter.tool) conditions.push(eq(confirmations.tool, filter.tool));
  if (filter.agent) conditions.push(eq(confirmations.agent, filter.agent));
  if (filter.apiKeyId) conditions.push(eq(confirmations.apiKeyId, filter.apiKeyId));
  if (filter.from) conditions.push(gte(confirmations.createdAt, filter.from));
  if (filter.to) conditions.push(lt(confirmations.createdAt, filter.to));
  if (filter.person) conditions.push(involves(filter.person));
  if (filter.visibleTo) conditions.push(involves(filter.visibleTo));
  if (filter.q) conditions.push(mentions(filter.q));
  if (filter.cursor) conditions.push(before(filter.cursor));
  return conditions;
}

const involves = (person: string): SQL | undefined =>
  or(
    eq(confirmations.requesterId, person),
    eq(confirmations.agentOwner, person),
    sql`${confirmations.approvers} @> ${JSON.stringify([{ id: person }])}::jsonb`,
    sql`(${confirmations.escalatedAt} is not null and ${confirmations.policy} -> 'escalation' -> 'people' @> ${JSON.stringify([{ id: person }])}::jsonb)`,
    standsIn(person),
    sql`exists (select 1 from ${votes} where ${votes.confirmationId} = ${confirmations.id} and ${votes.personId} = ${person})`,
  );

/** A delegate is involved once they are seated; the names of all who were are on the request. */
const standsIn = (person: string): SQL => sql`exists (
    select 1 from jsonb_array_elements(
      ${confirmations.approvers} || coalesce(nullif(${confirmations.policy} -> 'escalation', 'null'::jsonb) -> 'people', '[]'::jsonb)
    ) as holder
    where holder ->> 'id' = any(${confirmations.delegatedSeats}) and holder #>> '{away,delegate,id}' = ${person})`;

function mentions(text: string): SQL | undefined {
  const pattern = `%${text.replaceAll(/[\\%_]/g, (special) => `\\${special}`)}%`;
  return or(
    ilike(confirmations.tool, pattern),
    ilike(confirmations.summary, pattern),
    ilike(confirmations.requesterName, pattern),
    ilike(confirmations.verificationCode, pattern),
    sql`${confirmations.args}::text ilike ${pattern}`,
  );
}

const cursorOf = (row: ConfirmationRow): string =>
  Buffer.from(`${row.createdAt.toISOString()} ${row.id}`).toString('base64url');

const CURSOR_TIME = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function before(cursor: string): SQL {
  const [at = '', id = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  // Exactly what `cursorOf` writes: whatever else a client sends must not reach the database's own parsers.
  if (!CURSOR_TIME.test(at) || Number.isNaN(Date.parse(at)) || parseConfirmationId(id) === null) {
    throw new CountersignError(
      'invalid_request',
      'The cursor is not one that this service gave out; leave it out.',
    );
  }
  return sql`(${confirmations.createdAt}, ${confirmations.id}) < (${at}::timestamptz, ${id}::uuid)`;
}
