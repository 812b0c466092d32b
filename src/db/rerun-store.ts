import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { RerunCall, RerunRequest, RerunStore } from '../agent/rerun-store.ts';
import type { ExecutionLog } from '../agent/run-record.ts';
import { agentId, type ConfirmationId } from '../ids.ts';
import { appendAuditEvents } from './audit-store.ts';
import type { Connection, Database } from './database.ts';
import { rowsOf } from './rows-of.ts';
import { runFactsFromRow, storedInvocationFromRow } from './run-rows.ts';
import { confirmations } from './schema/confirmations.ts';
import { invocations, runEvents, runs } from './schema/runs.ts';
import { STATEMENT_TIME } from './statement-time.ts';
import { storableJson } from './storable-json.ts';

/** Calls of unknown outcome that are run again, over drizzle. */
export function createRerunStore(database: Database): RerunStore {
  const { connection } = database;
  return {
    async approved(limit) {
      const rows = await connection
        .select({ id: confirmations.id, agent: confirmations.agent, tool: confirmations.tool })
        .from(confirmations)
        .where(
          and(
            isNotNull(confirmations.supersedes),
            isNotNull(confirmations.runId),
            eq(confirmations.executionStatus, 'unclaimed'),
            sql`${confirmations.executableFrom} <= ${STATEMENT_TIME}`,
          ),
        )
        .orderBy(asc(confirmations.executableFrom))
        .limit(limit);
      return rows.map(({ id, agent, tool }) => ({ id: id as ConfirmationId, agent: agentId(agent), tool }));
    },
    unwanted: (limit) =>
      rowsOf<RerunRequest>(
        connection,
        sql`
        select rerun.id, rerun.run_id as run, rerun.agent from confirmations as rerun
        join ${runs} on ${runs.id} = rerun.run_id and ${runs.status} = 'cancelled'
        where rerun.supersedes is not null and rerun.run_id is not null
          and (rerun.status = 'pending' or rerun.execution_status = 'unclaimed')
        limit ${limit}`,
      ),
    answered: (limit) =>
      rowsOf<RerunRequest>(
        connection,
        sql`
        select rerun.id, rerun.run_id as run, rerun.agent from confirmations as rerun
        join ${invocations} on ${invocations.id} = rerun.invocation_id and ${invocations.status} = 'succeeded'
        where rerun.supersedes is not null and rerun.run_id is not null
          and rerun.execution_status in ('claimed', 'unknown') and rerun.superseded_by is null
        limit ${limit}`,
      ),
    async find(id) {
      const [row] = await connection
        .select({ run: runs, invocation: invocations })
        .from(invocations)
        .innerJoin(runs, eq(runs.id, invocations.runId))
        .where(eq(invocations.id, id));
      if (!row) return null;
      const { run, invocation } = row;
      return {
        run: runFactsFromRow(run),
        runStatus: run.status,
        invocation: storedInvocationFromRow(invocation),
      };
    },
    log: (call) => logOf(database, call),
  };
}

function logOf(database: Database, { run, invocation }: RerunCall): ExecutionLog {
  return {
    // The claim says that it may be sent from now on; a crash leaves that claim without a result.
    async executing() {
      // Locked, so that a cancellation on its way is waited for.
      const [row] = await database.connection
        .select({
          status: runs.status,
          cancelRequestedAt: runs.cancelRequestedAt,
          finishedAt: runs.finishedAt,
        })
        .from(runs)
        .where(eq(runs.id, run.id))
        .for('share');
      const unwanted =
        row?.status === 'cancelled' || (row?.finishedAt === null && row.cancelRequestedAt !== null);
      return { wanted: !unwanted };
    },

    async executed({ status, result }) {
      if (status !== 'succeeded') return;
      await database.connection
        .update(invocations)
        .set({
          status,
          result: result === null ? null : JSON.stringify(storableJson(result)),
          errorCode: null,
          errorMessage: null,
        })
        .where(and(eq(invocations.id, invocation.id), eq(invocations.status, 'unknown')));
    },

    async settled({ status, error, event }) {
      await database.transaction(async (transaction) => {
        const data = { invocation: invocation.id, status, code: error?.code ?? null };
        // A plan's node waits for this, and says itself how it ended.
        if (status === 'succeeded' && run.plan === null) await appendFinished(transaction, run.id, data);
        await appendAuditEvents(transaction, [event]);
      });
      // Committed: what is lost here only delays whoever watches.
      await Promise.all([
        database.notifier.notify('run', run.id),
        database.notifier.notify('audit', run.id),
      ]).catch(() => {});
    },
  };
}

/** Nothing is added to the stream of a run that is over. */
async function appendFinished(
  transaction: Connection,
  run: RerunCall['run']['id'],
  data: Parameters<typeof storableJson>[0],
): Promise<void> {
  const [open] = await transaction
    .update(runs)
    .set({ eventSeq: sql`${runs.eventSeq} + 1` })
    .where(and(eq(runs.id, run), isNull(runs.finishedAt)))
    .returning({ seq: runs.eventSeq });
  if (!open) return;
  await transaction.insert(runEvents).values({
    runId: run,
    seq: open.seq,
    kind: 'tool.finished',
    data: storableJson(data) as never,
    at: sql`clock_timestamp()`,
  });
}
