import { orderOfCalls } from '../agent/plan-order.ts';
import type { Invocation, Run } from '../agent/run.ts';
import type { CallPosition, InvocationError, StoredInvocation } from '../agent/run-record.ts';
import type { RunFacts } from '../agent/run-store.ts';
import type { RunId } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { InvocationRow, RunRow } from './schema/runs.ts';

/** Rows as the union types of the agent part; what a row cannot say is a fault of ours and throws. */
export function runFromRow(
  row: RunRow,
  childRuns: readonly RunId[],
  invocations: readonly InvocationRow[],
): Run {
  return {
    id: row.id,
    agent: row.agent,
    executor: row.executor,
    status: row.status,
    input: row.input,
    output: row.output,
    error: errorOf(row),
    session: row.session,
    requester: requesterOf(row),
    parentRun: row.parentRun,
    plan: row.plan,
    childRuns,
    evaluation: row.evaluation,
    apiKeyId: row.apiKeyId,
    invocations: inOrder(row, invocations).map(invocationFromRow),
    eventCount: row.eventSeq,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt,
  };
}

export function runFactsFromRow(row: RunRow): RunFacts {
  return {
    id: row.id,
    organization: row.organization,
    agent: row.agent,
    executor: row.executor,
    input: row.input,
    plan: row.plan,
    session: row.session,
    requester: requesterOf(row),
    requesterNamedByAgent: row.requesterNamedByAgent,
    evaluation: row.evaluation,
    hooks: row.hookChain,
    apiKeyId: row.apiKeyId,
    parent:
      row.parentRun !== null && row.parentInvocation !== null
        ? { run: row.parentRun, invocation: row.parentInvocation }
        : null,
    depth: row.depth,
  };
}

export function storedInvocationFromRow(row: InvocationRow): StoredInvocation {
  return {
    id: row.id,
    position: positionOf(row),
    callId: row.callId,
    tool: row.tool,
    phase: row.phase,
    status: row.status,
    args: row.args,
    confirmation: row.confirmationId,
    result: resultOf(row),
    view: row.view,
    error: errorOf(row),
    sideEffects: row.sideEffects,
    executingAt: row.executingAt,
  };
}

/** As the model asked, or as the plan lists them: side by side, nothing else has an order. */
function inOrder(row: RunRow, invocations: readonly InvocationRow[]): readonly InvocationRow[] {
  if (row.plan === null) return invocations;
  const compare = orderOfCalls(row.plan);
  return invocations.toSorted((one, other) => compare(one.node ?? '', other.node ?? ''));
}

const invocationFromRow = (row: InvocationRow): Invocation => ({
  id: row.id,
  callId: row.callId,
  node: row.node,
  tool: row.tool,
  args: row.args,
  confirmation: row.confirmationId,
  status: row.status,
  result: resultOf(row),
  error: errorOf(row),
});

function positionOf(row: InvocationRow): CallPosition {
  if (row.node !== null) return { kind: 'node', node: row.node };
  if (row.turn !== null && row.place !== null) return { kind: 'turn', turn: row.turn, place: row.place };
  throw new Error(`invocation ${row.id} stands nowhere in its run`);
}

const resultOf = (row: InvocationRow): JsonValue =>
  row.result === null ? null : (JSON.parse(row.result) as JsonValue);

function errorOf(row: { errorCode: string | null; errorMessage: string | null }): InvocationError | null {
  return row.errorCode !== null && row.errorMessage !== null
    ? { code: row.errorCode, message: row.errorMessage }
    : null;
}

const requesterOf = (row: RunRow): Run['requester'] =>
  row.requesterId !== null ? { id: row.requesterId, name: row.requesterName ?? row.requesterId } : null;
