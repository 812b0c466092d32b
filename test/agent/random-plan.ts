import type { PlanNode } from '../../src/agent/plan.ts';
import type { JsonObject } from '../../src/json.ts';
import { httpTool } from './sample-config.ts';

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What the nodes of random plans call: gated or not, each behaving as its name says. */
export const RANDOM_TOOLS = [
  httpTool({ name: 'ask', path: '/payments', requiresConfirmation: true }),
  httpTool({ name: 'ask_refused', path: '/refused', requiresConfirmation: true }),
  httpTool({ name: 'ask_broken', path: '/broken', requiresConfirmation: true }),
  httpTool({ name: 'free', path: '/payments' }),
];
const TOOLS = ['ask', 'ask', 'ask', 'ask_refused', 'ask_broken', 'free', 'free', 'log'];

const LISTS = [['a', 'b'], ['a', 'b', 'c'], ['a'], []];
const ON = [['rejected'], ['rejected', 'failed'], ['failed']] as const;

/** A plan of loops in loops, edges, references and every `onRejected`, the same for the same seed. */
export function randomPlan(seed: number): readonly PlanNode[] {
  const random = randomFrom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  let named = 0;

  function nodesIn(around: readonly PlanNode[], count: number): readonly PlanNode[] {
    const nodes: PlanNode[] = [];
    for (let place = 0; place < count; place += 1) {
      const id = `n${named}`;
      named += 1;
      const edges = {
        id,
        dependsOn: nodes.filter(() => random() < 0.35).map((node) => node.id),
        onRejected: pick(['fail', 'fail', 'skip', 'continue'] as const),
      };
      const isLoop = around.length < 2 && random() < (around.length === 0 ? 0.7 : 0.5);
      nodes.push(isLoop ? loop(edges, around) : { ...edges, kind: 'tool', ...call(id, nodes, around) });
    }
    return nodes;
  }

  function loop(
    edges: Pick<PlanNode, 'id' | 'dependsOn' | 'onRejected'>,
    around: readonly PlanNode[],
  ): PlanNode {
    if (random() < 0.45) {
      const each = { ...edges, kind: 'for-each', list: pick(LISTS), nodes: [] } as const;
      return {
        ...each,
        list: [...each.list],
        nodes: nodesIn([...around, { ...each, list: [] }], 1 + below(2)),
      };
    }
    const again = { ...edges, kind: 'repeat', atMost: pick([2, 3]), on: pick(ON), nodes: [] } as const;
    return { ...again, nodes: nodesIn([...around, again], 1 + below(3)) };
  }

  function call(id: string, beside: readonly PlanNode[], around: readonly PlanNode[]) {
    const args: JsonObject = { node: id };
    for (const { id: loopId, kind } of around) {
      if (kind === 'for-each') args[loopId] = { $from: loopId, path: '/item' };
      else if (random() < 0.4) args[loopId] = { $from: loopId, path: pick(['/reason', '/index', '/before']) };
    }
    if (beside.length > 0 && random() < 0.3) args.from = { $from: pick(beside).id };
    return { tool: `oa__${pick(TOOLS)}`, args };
  }

  return nodesIn([], 1 + below(3));
}
