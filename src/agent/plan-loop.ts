import type { JsonObject, JsonValue } from '../json.ts';
import { type FailedEnd, failedFor, type NodeEnd, resultShown } from './node-end.ts';
import type { LoopNode } from './plan.ts';
import { MOST_ELEMENTS } from './plan-check.ts';
import { referencedNodes, resolveReferences } from './plan-references.ts';
import type { PlanScope } from './plan-scope.ts';
import { type StepRecord, StepsPass } from './steps-pass.ts';

interface LoopBody {
  /** Runs the nodes of the loop once, in the place of one round. */
  runRound(round: PlanScope): Promise<NodeEnd>;
  /** What the rows say of a round, by its path. */
  onRecord(path: string): StepRecord;
}

/** Runs the nodes of a loop, round by round or for each element of its list. */
export async function runLoop(node: LoopNode, scope: PlanScope, body: LoopBody): Promise<NodeEnd> {
  return node.kind === 'repeat' ? repeat(node, scope, body) : forEach(node, scope, body);
}

/**
 * Side by side, each element with its own calls. The result is a list, in the order of the elements; an element that was
 * skipped has `{"status": "skipped"}` there, and the loop counts as skipped where all were.
 */
async function forEach(
  node: Extract<LoopNode, { kind: 'for-each' }>,
  scope: PlanScope,
  body: LoopBody,
): Promise<NodeEnd> {
  const path = scope.path + node.id;
  const stubbed = referencedNodes(node.list).find((id) => scope.endOf(id)?.kind === 'stubbed');
  if (stubbed !== undefined) return stubbedLoop(stubbed);
  const resolved = resolveReferences(node.list, (id) => {
    const end = scope.endOf(id);
    return end?.kind === 'succeeded' ? end.result : undefined;
  });
  if (resolved.kind === 'missing') return noList(path, resolved.message);
  const list = resolved.value;
  if (!Array.isArray(list)) return noList(path, 'What it should go through is no list.');
  if (list.length > MOST_ELEMENTS) {
    return noList(path, `Its list has ${list.length} elements; the limit is ${MOST_ELEMENTS}.`);
  }
  const pass = new StepsPass(
    list.map((item, index) => ({
      id: `${index}`,
      after: [],
      onRecord: body.onRecord(`${path}[${index}]`),
      run: async (signal) => {
        const round = roundOf(node, { ...scope, signal }, index, { index, item });
        return onRejected(node, await body.runRound(round));
      },
    })),
    scope.signal,
  );
  const failure = await pass.finish();
  if (failure !== null) return failure;
  const ends = list.map((_item, index) => pass.endOf(`${index}`));
  if (ends.length > 0 && ends.every((end) => end?.kind === 'skipped')) return { kind: 'skipped' };
  const isStubbed = ends.some((end) => end?.kind === 'stubbed');
  return { kind: isStubbed ? 'stubbed' : 'succeeded', result: ends.map(resultShown) };
}

/** One round after the other, until one is not refused (or does not fail), or there were enough. */
async function repeat(
  node: Extract<LoopNode, { kind: 'repeat' }>,
  scope: PlanScope,
  body: LoopBody,
): Promise<NodeEnd> {
  let before: FailedEnd['cause'] = null;
  for (let index = 0; ; index += 1) {
    const observation: JsonValue = before?.observation ?? null;
    const round = roundOf(node, scope, index, { index, before: observation, reason: reasonIn(observation) });
    const end = await body.runRound(round);
    if (end.kind !== 'failed' || !goesRoundAgain(node, end) || index + 1 === node.atMost) {
      return onRejected(node, end);
    }
    before = end.cause;
  }
}

function goesRoundAgain({ on }: Extract<LoopNode, { kind: 'repeat' }>, { cause }: FailedEnd): boolean {
  if (cause === null) return false;
  return cause.kind === 'failed'
    ? on.includes('failed')
    : cause.code === 'rejected' && on.includes('rejected');
}

/** The place of one round, in which the loop's name stands for `value`. */
const roundOf = (node: LoopNode, scope: PlanScope, index: number, value: JsonObject): PlanScope => ({
  ...scope,
  path: `${scope.path}${node.id}[${index}]/`,
  repeated: scope.repeated ?? (node.kind === 'repeat' ? scope.signal : null),
  pathOfAnyRound: `${scope.pathOfAnyRound}${node.id}[${node.kind === 'repeat' ? '' : index}]/`,
  endOf: (id) => (id === node.id ? { kind: 'succeeded', result: value } : scope.endOf(id)),
});

function onRejected(node: LoopNode, end: NodeEnd): NodeEnd {
  if (end.kind !== 'failed' || end.cause?.kind !== 'blocked') return end;
  switch (node.onRejected) {
    case 'continue':
      return { kind: 'succeeded', result: end.cause.observation };
    case 'skip':
      return { kind: 'skipped' };
    case 'fail':
      return end;
  }
}

const reasonIn = (observation: JsonValue): JsonValue =>
  typeof observation === 'object' && observation !== null && !Array.isArray(observation)
    ? (observation.reason ?? null)
    : null;

const noList = (path: string, what: string): NodeEnd =>
  failedFor({ code: 'node_failed', message: `Node "${path}" cannot begin: ${what}` });

const stubbedLoop = (node: string): NodeEnd => ({
  kind: 'stubbed',
  result: {
    status: 'stubbed',
    executed: false,
    message: `It needs the result of node "${node}", which an evaluation does not run.`,
  },
});
