import { and, asc, eq, gt, inArray, isNotNull, isNull, ne, or, sql } from 'drizzle-orm';
import { runStartedEvent } from '../agent/run-audit.ts';
import { MOST_DELEGATES, type RunFacts, type RunStore } from '../agent/run-store.ts';
import type { Clock } from '../clock.ts';
import type { RunId } from '../ids.ts';
import { appendAuditEvents } from './audit-store.ts';
import { CoalescedNotices } from './coalesced-notices.ts';
import type { Connection, Database } from './database.ts';
import { isAnyOf } from './is-any-of.ts';
import { rowsOf } from './rows-of.ts';
import { RunRecordStore } from './run-record-store.ts';
import { runFromRow } from './run-rows.ts';
import { invocations, runEvents, runs, runWorkers } from './schema/runs.ts';
import { storableJson, storableText } from './storable-json.ts';

const OPEN = ['running', 'waiting'] as const;
/** A process begins to work on what it has created long before this is over. */
const BEGUN_WITHIN = sql`interval '30 seconds'`;

/** Runs on PostgreSQL and on the embedded database; leases by the database's clock. */
export function createRunStore({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): RunStore {
  const { connection } = database;
  const notices = new CoalescedNotices({ notifier: database.notifier, clock });
  // It is committed: a lost wake-up only delays whoever watches the run, until the next poll.
  const notifyChanged = (id: RunId) => database.notifier.notify('run', id).catch(() => {});
  // Lost, it is the next look of whoever works on the run that stops it.
  const notifyCancelled = (id: RunId) => database.notifier.notify('cancel', id).catch(() => {});
  return {
    async create(facts, owner) {
      const outcome = await database.transaction(async (transaction) => {
        const refusal = facts.parent === null ? null : await refusalOf(transaction, facts.parent);
        if (refusal !== null) return refusal;
        const rows = await transaction
          .insert(runs)
          .values({ ...rowOf(facts), leaseOwner: owner })
          .onConflictDoNothing()
          .returning({ id: runs.id });
        if (rows.length === 0) return 'exists';
        await transaction.insert(runEvents).values({
          runId: facts.id,
          seq: 1,
          kind: 'run.started',
          data: {
            agent: facts.agent,
            executor: facts.executor,
            parentRun: facts.parent?.run ?? null,
            evaluation: facts.evaluation,
          },
          at: sql`clock_timestamp()`,
        });
        await appendAuditEvents(transaction, [runStartedEvent(facts)]);
        return 'created';
      });
      if (outcome !== 'created') return { kind: outcome };
      await notifyChanged(facts.id);
      await database.notifier.notify('audit', facts.id).catch(() => {});
      return { kind: 'created', lease: { run: facts.id, agent: facts.agent, fencingToken: 1 } };
    },

    async find(id) {
      const [row] = await connection.select().from(runs).where(eq(runs.id, id));
      if (!row) return null;
      const children = await connection
        .select({ id: runs.id })
        .from(runs)
        .where(eq(runs.parentRun, id))
        .orderBy(asc(runs.id));
      const calls = await connection
        .select()
        .from(invocations)
        .where(eq(invocations.runId, id))
        .orderBy(
          asc(invocations.turn),
          asc(invocations.place),
          asc(invocations.createdAt),
          asc(invocations.id),
        );
      return runFromRow(
        row,
        children.map((child) => child.id),
        calls,
      );
    },

    async statusOf(id) {
      const [row] = await connection.select({ status: runs.status }).from(runs).where(eq(runs.id, id));
      return row?.status ?? null;
    },

    async eventCounts(ids) {
      if (ids.length === 0) return new Map();
      const rows = await connection
        .select({ id: runs.id, eventSeq: runs.eventSeq })
        .from(runs)
        .where(isAnyOf(runs.id, ids));
      return new Map(rows.map((row) => [row.id, row.eventSeq]));
    },

    async childOf(invocation) {
      const [row] = await connection
        .select({ id: runs.id })
        .from(runs)
        .where(eq(runs.parentInvocation, invocation));
      return row?.id ?? null;
    },

    async eventsAfter(id, afterSeq, limit) {
      const rows = await connection
        .select()
        .from(runEvents)
        .where(and(eq(runEvents.runId, id), gt(runEvents.seq, afterSeq)))
        .orderBy(asc(runEvents.seq))
        .limit(limit);
      return rows.map(({ seq, kind, at, data }) => ({ seq, kind, at, data }));
    },

    async requestCancel(id) {
      const ids = await database.transaction(async (transaction) => {
        const rows = await transaction
          .update(runs)
          .set({
            cancelRequestedAt: sql`coalesce(${runs.cancelRequestedAt}, clock_timestamp())`,
            parkedAt: null,
            wokenAt: sql`case when ${runs.parkedAt} is null then ${runs.wokenAt} else clock_timestamp() end`,
          })
          .where(and(isAnyOf(runs.id, await lockTree(transaction, id)), inArray(runs.status, [...OPEN])))
          .returning({ id: runs.id });
        return rows.map((row) => row.id);
      });
      const notices = ids.flatMap((each) => [notifyChanged(each), notifyCancelled(each)]);
      await Promise.all(notices);
      return ids.includes(id);
    },

    async cancelRequestedOf(owner) {
      const rows = await connection
        .select({ id: runs.id })
        .from(runs)
        .where(and(eq(runs.leaseOwner, owner), isNotNull(runs.cancelRequestedAt), isNull(runs.finishedAt)));
      return rows.map((row) => row.id);
    },

    async heartbeat({ owner, leaseMs }) {
      const leaseUntil = sql`clock_timestamp() + ${leaseMs} * interval '1 millisecond'`;
      await connection
        .insert(runWorkers)
        .values({ owner, leaseUntil })
        .onConflictDoUpdate({ target: runWorkers.owner, set: { leaseUntil } });
      // What dead processes left; their runs are found without it.
      await connection
        .delete(runWorkers)
        .where(sql`${runWorkers.leaseUntil} < clock_timestamp() - interval '1 hour'`);
    },

    takeOver: ({ owner, limit, lapsed, working }) =>
      database.transaction(async (transaction) => {
        const abandoned = sql`not exists (
          select 1 from ${runWorkers} where ${runWorkers.owner} = ${runs.leaseOwner}
          and (not ${lapsed}::boolean or ${runWorkers.leaseUntil} > clock_timestamp())
        )`;
        const unknownToOwner = and(
          eq(runs.leaseOwner, owner),
          sql`${runs.createdAt} < clock_timestamp() - ${BEGUN_WITHIN}`,
          sql`${runs.id} <> all(${sql.param(`{${working.join(',')}}`)}::uuid[])`,
        );
        const candidates = await transaction
          .select({ id: runs.id })
          .from(runs)
          .where(
            and(
              isNull(runs.finishedAt),
              isNull(runs.parkedAt),
              isNull(runs.wokenAt),
              or(abandoned, unknownToOwner),
            ),
          )
          .orderBy(asc(runs.createdAt))
          .limit(limit)
          .for('update', { skipLocked: true });
        if (candidates.length === 0) return [];
        const ids = candidates.map((row) => row.id);
        const taken = await transaction
          .update(runs)
          .set(takenBy(owner))
          .where(isAnyOf(runs.id, ids))
          .returning({ run: runs.id, agent: runs.agent, fencingToken: runs.fencingToken });
        return taken;
      }),

    async takeWoken({ owner, limit }) {
      const woken = connection
        .select({ id: runs.id })
        .from(runs)
        .where(isNotNull(runs.wokenAt))
        .orderBy(asc(runs.wokenAt))
        .limit(limit)
        .for('update', { skipLocked: true });
      return connection
        .update(runs)
        .set(takenBy(owner))
        .where(sql`${runs.id} = any(array(${woken}))`)
        .returning({ run: runs.id, agent: runs.agent, fencingToken: runs.fencingToken });
    },

    async endOtherLeases(owner) {
      await connection.delete(runWorkers).where(ne(runWorkers.owner, owner));
    },

    async endLease(owner) {
      await connection.delete(runWorkers).where(eq(runWorkers.owner, owner));
      // The last that a process does with its runs before it closes the database.
      await notices.flush();
    },

    record: (lease, onUnwanted) => new RunRecordStore(database, lease, { notices, onUnwanted }),
  };
}

/**
 * Why a run starts no other one: it is over, or one above it is, whatever a worker that lost it still thinks; or its tree
 * holds all the runs that it may, this invocation's not counted. Locks the caller and then the root, as whatever goes
 * from a run to the one above it does: calls of one turn come at once, those of its delegates too, and so may its end.
 */
async function refusalOf(
  transaction: Connection,
  parent: NonNullable<RunFacts['parent']>,
): Promise<'unwanted' | 'too-many' | null> {
  await lockRun(transaction, parent.run);
  const line = await rowsOf<{ id: RunId; over: boolean }>(
    transaction,
    sql`
    with recursive line as (
      select id, parent_run, depth, finished_at, cancel_requested_at from runs where id = ${parent.run}
      union all
      select above.id, above.parent_run, above.depth, above.finished_at, above.cancel_requested_at
      from runs as above join line on above.id = line.parent_run
    )
    select id, (finished_at is not null or cancel_requested_at is not null) as over from line order by depth`,
  );
  const [root] = line;
  if (root === undefined || line.some(({ over }) => over)) return 'unwanted';
  if (root.id !== parent.run) await lockRun(transaction, root.id);
  const [started] = await rowsOf<{ count: number }>(
    transaction,
    sql`
    with recursive tree as (
      select id, parent_invocation from runs where parent_run = ${root.id}
      union all
      select below.id, below.parent_invocation from runs as below join tree on below.parent_run = tree.id
    )
    select count(*)::integer as count from tree where parent_invocation <> ${parent.invocation}`,
  );
  return (started?.count ?? 0) >= MOST_DELEGATES ? 'too-many' : null;
}

/**
 * This run and all that it has started, however deep, the deepest first: whatever goes from a run to the one above it
 * locks in that order. One that is being started meanwhile is missing; its caller stops it.
 */
async function lockTree(transaction: Connection, id: RunId): Promise<readonly RunId[]> {
  const rows = await rowsOf<{ id: RunId }>(
    transaction,
    sql`
    with recursive tree as (
      select id from runs where id = ${id}
      union all
      select below.id from runs as below join tree on below.parent_run = tree.id
    )
    select runs.id from runs join tree on tree.id = runs.id
    where runs.finished_at is null order by runs.depth desc, runs.id for no key update of runs`,
  );
  return rows.map((row) => row.id);
}

const lockRun = (transaction: Connection, id: RunId) =>
  transaction.select({ id: runs.id }).from(runs).where(eq(runs.id, id)).for('no key update');

const takenBy = (owner: string) => ({
  leaseOwner: owner,
  fencingToken: sql`${runs.fencingToken} + 1`,
  wokenAt: null,
});

const rowOf = (facts: RunFacts) => ({
  id: facts.id,
  organization: facts.organization,
  agent: facts.agent,
  executor: facts.executor,
  status: 'running' as const,
  input: storableText(facts.input),
  plan: facts.plan === null ? null : storableJson(facts.plan),
  session: storableText(facts.session),
  requesterId: facts.requester?.id ?? null,
  requesterName: facts.requester?.name ?? null,
  requesterNamedByAgent: facts.requesterNamedByAgent,
  evaluation: facts.evaluation,
  hookChain: facts.hooks,
  apiKeyId: facts.apiKeyId,
  parentRun: facts.parent?.run ?? null,
  parentInvocation: facts.parent?.invocation ?? null,
  depth: facts.depth,
  eventSeq: 1,
  fencingToken: 1,
  createdAt: sql`clock_timestamp()`,
});
