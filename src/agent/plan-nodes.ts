import type { JsonObject } from '../json.ts';
import { type FailedEnd, type NodeEnd, resultShown } from './node-end.ts';
import { isLoop, type PlanNode } from './plan.ts';
import type { PlanCalls } from './plan-calls.ts';
import { dependenciesOf } from './plan-check.ts';
import { runLoop } from './plan-loop.ts';
import type { PlanScope } from './plan-scope.ts';
import { StepsPass } from './steps-pass.ts';

/** How the nodes of a plan, or of one round of a loop, ended together. */
export type NodesEnd =
  | {
      /** Skipped: all on which no other depends were. Stubbed: one of these was, in an evaluation. */
      readonly kind: 'succeeded' | 'skipped' | 'stubbed';
      /** What the nodes on which no other depends ended with, by their ids. */
      readonly result: JsonObject;
    }
  | FailedEnd;

/** Runs nodes, each when those that it depends on have ended, side by side with the others. */
export async function runNodes(
  nodes: readonly PlanNode[],
  scope: PlanScope,
  calls: PlanCalls,
): Promise<NodesEnd> {
  const here = new Set(nodes.map(({ id }) => id));
  const needs = new Map(nodes.map((node) => [node.id, dependenciesOf(node).filter((id) => here.has(id))]));
  const pass: StepsPass = new StepsPass(
    nodes.map((node) => ({
      id: node.id,
      after: needs.get(node.id) ?? [],
      onRecord: calls.onRecord(scope.path + node.id),
      run: (signal) => {
        const within = { ...scope, signal, endOf: (id: string) => pass.endOf(id) ?? scope.endOf(id) };
        const isSkipped = needs.get(node.id)?.some((id) => pass.endOf(id)?.kind === 'skipped') ?? false;
        return isSkipped ? skipNode(node, within, calls) : runNode(node, within, calls);
      },
    })),
    scope.signal,
  );
  const failure = await pass.finish();
  if (failure !== null) return failure;
  const needed = new Set([...needs.values()].flat());
  const last = nodes.filter(({ id }) => !needed.has(id)).map(({ id }) => [id, pass.endOf(id)] as const);
  const result = Object.fromEntries(last.map(([id, end]) => [id, resultShown(end)]));
  if (last.every(([, end]) => end?.kind === 'skipped')) return { kind: 'skipped', result };
  return { kind: last.some(([, end]) => end?.kind === 'stubbed') ? 'stubbed' : 'succeeded', result };
}

const skipNode = async (node: PlanNode, scope: PlanScope, calls: PlanCalls): Promise<NodeEnd> =>
  isLoop(node) ? { kind: 'skipped' } : calls.skip(node, scope);

const runNode = (node: PlanNode, scope: PlanScope, calls: PlanCalls): Promise<NodeEnd> =>
  isLoop(node)
    ? runLoop(node, scope, {
        runRound: (round) => runNodes(node.nodes, round, calls),
        onRecord: (path) => calls.onRecord(path),
      })
    : calls.make(node, scope);
