import { and, desc, eq, gte, ilike, inArray, isNotNull, lt, ne, or, type SQL, sql } from 'drizzle-orm';
import type { ClosedConfirmationRequest, ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { ConfirmationFilter, ConfirmationPage } from '../confirmation/confirmation-service.ts';
import type { DueConfirmations } from '../confirmation/ledger.ts';
import { CountersignError } from '../errors.ts';
import { type ConfirmationId, parseConfirmationId } from '../ids.ts';
import { type ConfirmationRow, confirmationOf, type VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { preparedPerConnection } from './prepared-per-connection.ts';
import { confirmations, votes } from './schema/confirmations.ts';

export async function readConfirmations(
  connection: Connection,
  where: SQL | undefined,
  options: { readonly limit?: number } = {},
): Promise<ConfirmationRequest[]> {
  const query = connection
    .select()
    .from(confirmations)
    .where(where)
    .orderBy(desc(confirmations.createdAt), desc(confirmations.id));
  return withVotes(connection, await (options.limit === undefined ? query : query.limit(options.limit)));
}

/** Those of `ids` that are closed, in one statement: what everybody who waits is woken by. */
export async function readClosed(
  connection: Connection,
  ids: readonly ConfirmationId[],
): Promise<ClosedConfirmationRequest[]> {
  if (ids.length === 0) return [];
  const found = await selectClosed(connection).execute({ ids });
  const votesOf = new Map<ConfirmationRow, VoteRow[]>();
  let current: ConfirmationRow | null = null;
  for (const { row, vote } of found) {
    if (current?.id !== row.id) current = row;
    const cast = votesOf.get(current) ?? [];
    votesOf.set(current, vote === null ? cast : [...cast, vote]);
  }
  return [...votesOf]
    .map(([row, cast]) => confirmationOf(row, cast))
    .filter((request) => request.status !== 'pending');
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

export async function readPage(
  connection: Connection,
  filter: ConfirmationFilter,
): Promise<ConfirmationPage> {
  const found = await readConfirmations(connection, and(...conditionsOf(filter)), {
    limit: filter.limit + 1,
  });
  const items = found.slice(0, filter.limit);
  const last = items.at(-1);
  return { items, nextCursor: found.length > filter.limit && last ? cursorOf(last) : null };
}

export async function readDue(connection: Connection, limit: number): Promise<DueConfirmations> {
  const ids = (where: SQL | undefined) =>
    connection.select({ id: confirmations.id }).from(confirmations).where(where).limit(limit);
  const { status, executionStatus, decideBy, executeBy, claimedAt, sendBy, runId, toolTimeoutMs, policy } =
    confirmations;
  const toExpire = await ids(and(eq(status, 'pending'), sql`${decideBy} <= clock_timestamp()`));
  const toLapse = await ids(and(eq(executionStatus, 'unclaimed'), sql`${executeBy} <= clock_timestamp()`));
  const toAttend = await ids(
    and(eq(status, 'pending'), sql`${confirmations.nextStepAt} <= clock_timestamp()`),
  );
  // A run's own executor is certain to have stopped trying once `sendBy` and the tool's time-out are over, with some
  // room to record the result. An outside agent has as long as its policy says, and never less than that. A run's call
  // without a time-out is a delegate's run, which is looked after elsewhere (`createAbandonedCallers`).
  const longest = sql`${sendBy} + make_interval(secs => coalesce(${toolTimeoutMs}, 0) / 1000.0 + 5)`;
  const toUnknown = await ids(
    and(
      eq(executionStatus, 'claimed'),
      // These two are what the index holds.
      sql`(${runId} is null or ${toolTimeoutMs} is not null)`,
      sql`${sendBy} <= clock_timestamp()`,
      sql`${longest} <= clock_timestamp()`,
      or(
        isNotNull(runId),
        sql`${claimedAt} + make_interval(secs => (${policy} ->> 'outcomeWithinMs')::numeric::float8 / 1000.0) <= clock_timestamp()`,
      ),
    ),
  );
  const toOpen = await ids(
    and(
      eq(confirmations.coolingOff, true),
      eq(executionStatus, 'unclaimed'),
      sql`${confirmations.executableFrom} <= clock_timestamp()`,
    ),
  );
  const toSettle = await ids(
    and(
      eq(executionStatus, 'unknown'),
      eq(confirmations.settleOpen, false),
      sql`${confirmations.settleFrom} <= clock_timestamp()`,
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

async function withVotes(
  connection: Connection,
  rows: readonly ConfirmationRow[],
): Promise<ConfirmationRequest[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const found = await connection
    .select()
    .from(votes)
    .where(inArray(votes.confirmationId, ids))
    .orderBy(votes.at, votes.id);
  const byId = new Map<string, (typeof found)[number][]>(ids.map((id) => [id, []]));
  for (const vote of found) byId.get(vote.confirmationId)?.push(vote);
  return rows.map((row) => confirmationOf(row, byId.get(row.id) ?? []));
}

function conditionsOf(filter: ConfirmationFilter): (SQL | undefined)[] {
  const conditions: (SQL | undefined)[] = [];
  if (filter.status) conditions.push(eq(confirmations.status, filter.status));
  if (filter.execution) conditions.push(eq(confirmations.executionStatus, filter.execution));
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

const cursorOf = (request: ConfirmationRequest): string =>
  Buffer.from(`${request.createdAt.toISOString()} ${request.id}`).toString('base64url');

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
