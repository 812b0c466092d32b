import type { LoopNode, PlanNode } from '../../src/agent/plan.ts';
import type { JsonValue } from '../../src/json.ts';
import { toolNode } from './engine-fixture.ts';

export type Edges = Partial<Pick<PlanNode, 'dependsOn' | 'onRejected'>>;

export const forEach = (id: string, list: JsonValue, nodes: PlanNode[], edges: Edges = {}): PlanNode => ({
  ...{ kind: 'for-each', id, list, nodes, dependsOn: [], onRejected: 'fail' },
  ...edges,
});

export const repeat = (
  id: string,
  { atMost = 3, on = ['rejected'] }: Partial<Pick<Extract<LoopNode, { kind: 'repeat' }>, 'atMost' | 'on'>>,
  nodes: PlanNode[],
  edges: Edges = {},
): PlanNode => ({
  ...{ kind: 'repeat', id, atMost, on, nodes, dependsOn: [], onRejected: 'fail' },
  ...edges,
});

export const log = (id: string, args: Record<string, JsonValue> = {}, edges: Edges = {}): PlanNode =>
  toolNode(id, 'oa__log', args, edges);
