import { faultOfArguments } from '../confirmation/arguments.ts';
import type { AgentId } from '../ids.ts';
import type { AgentSetup } from './agent-directory.ts';
import { argumentsOf, type PlanNode } from './plan.ts';
import { referencedNodes } from './plan-references.ts';

/** More nodes than anybody reads. */
const MAX_NODES = 200;

/** Everything a node waits for: what it names, and what its arguments refer to. */
export function dependenciesOf(node: PlanNode): readonly string[] {
  return node.kind === 'tool'
    ? [...new Set([...node.dependsOn, ...referencedNodes(node.args)])]
    : node.dependsOn;
}

/** What keeps an agent from working through a plan, in words that name the node; null where it may run. */
export function faultOfPlanFor(
  { config, tools }: Pick<AgentSetup, 'config' | 'tools'>,
  plan: readonly PlanNode[],
) {
  const { toolCalls } = config.limits;
  if (toolCalls !== null && plan.length > toolCalls) {
    return `The plan has ${plan.length} nodes, and a run of this agent may make ${toolCalls} calls.`;
  }
  const names = new Set(tools().map(({ name }) => name));
  return faultOfPlan(plan, {
    hasTool: (name) => names.has(name),
    mayCallAgent: (id) => id === config.id || config.delegates.includes(id),
  });
}

/** What is wrong with a plan, in words that name the node; null where it may run. Checked before anything runs. */
export function faultOfPlan(
  plan: readonly PlanNode[],
  known: { hasTool(name: string): boolean; mayCallAgent(id: AgentId): boolean },
): string | null {
  if (plan.length === 0) return 'The plan has no nodes.';
  if (plan.length > MAX_NODES) return `The plan has ${plan.length} nodes; the limit is ${MAX_NODES}.`;
  const byId = new Map<string, PlanNode>();
  for (const node of plan) {
    if (byId.has(node.id)) return `Node "${node.id}" is there twice.`;
    byId.set(node.id, node);
  }
  for (const node of plan) {
    const fault = faultOfNode(node, byId, known);
    if (fault !== null) return fault;
  }
  return faultOfOrder(plan);
}

function faultOfNode(
  node: PlanNode,
  byId: ReadonlyMap<string, PlanNode>,
  known: Parameters<typeof faultOfPlan>[1],
): string | null {
  const missing = dependenciesOf(node).find((id) => !byId.has(id));
  if (missing !== undefined) return `Node "${node.id}" depends on "${missing}", which is not in the plan.`;
  if (node.kind === 'agent') {
    if (!known.mayCallAgent(node.agent as AgentId)) {
      return `Node "${node.id}" names the agent "${node.agent}", which this agent may not call.`;
    }
  } else if (!known.hasTool(node.tool)) {
    return `Node "${node.id}" names the tool "${node.tool}", which this agent does not have.`;
  }
  const fault = faultOfArguments(argumentsOf(node));
  return fault === null ? null : `Node "${node.id}": ${fault}`;
}

/** Takes away what depends on nothing that is left, again and again; what then remains waits for itself. */
function faultOfOrder(plan: readonly PlanNode[]): string | null {
  const left = new Map(plan.map((node) => [node.id, dependenciesOf(node)]));
  for (;;) {
    const free = [...left].filter(([, dependencies]) => dependencies.every((id) => !left.has(id)));
    if (free.length === 0) break;
    for (const [id] of free) left.delete(id);
  }
  return left.size === 0
    ? null
    : `The nodes ${[...left.keys()].map((id) => `"${id}"`).join(', ')} wait for one another.`;
}
