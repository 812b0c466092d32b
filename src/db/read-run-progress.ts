import { and, eq, getTableColumns, sql } from 'drizzle-orm';
import type { ChatMessage } from '../agent/chat-message.ts';
import type { RunProgress } from '../agent/run-record.ts';
import type { RunLease } from '../agent/run-store.ts';
import type { Connection } from './database.ts';
import { preparedPerConnection } from './prepared-per-connection.ts';
import { runFactsFromRow, storedInvocationFromRow } from './run-rows.ts';
import { invocations, runEvents, runMessages, runs } from './schema/runs.ts';

/** The run as it stands, for the worker that holds it; null where another one does. */
export async function readRunProgress(
  connection: Connection,
  { run, fencingToken }: RunLease,
): Promise<RunProgress | null> {
  const [found] = await runWithMessages(connection).execute({ run, token: fencingToken });
  if (!found) return null;
  const calls = await callsOfRun(connection).execute({ run });
  return {
    facts: runFactsFromRow(found.row),
    messages: found.messages,
    invocations: calls.map(storedInvocationFromRow),
    cancelRequested: found.row.cancelRequestedAt !== null,
    spokenTurn: found.spokenTurn,
    holding: found.row.holding,
  };
}

const runWithMessages = preparedPerConnection((connection) =>
  connection
    .select({
      row: getTableColumns(runs),
      messages: sql<readonly ChatMessage[]>`coalesce(
        (select jsonb_agg(${runMessages.message} order by ${runMessages.seq})
         from ${runMessages} where ${runMessages.runId} = ${runs.id}), '[]')`,
      // Of those that earlier versions wrote, none says its turn, and none was written without its answer.
      spokenTurn: sql<number | null>`(select (${runEvents.data} ->> 'turn')::integer from ${runEvents}
        where ${runEvents.runId} = ${runs.id} and ${runEvents.kind} = 'model.delta'
        order by ${runEvents.seq} desc limit 1)`,
    })
    .from(runs)
    .where(and(eq(runs.id, sql.placeholder('run')), eq(runs.fencingToken, sql.placeholder('token'))))
    .prepare('run_with_messages'),
);

const callsOfRun = preparedPerConnection((connection) =>
  connection
    .select()
    .from(invocations)
    .where(eq(invocations.runId, sql.placeholder('run')))
    .prepare('calls_of_run'),
);
