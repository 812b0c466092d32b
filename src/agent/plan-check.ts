import { faultOfArguments } from '../confirmation/arguments.ts';
import type { AgentId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { AgentSetup } from './agent-directory.ts';
import { givenTo, isLoop, type LoopNode, type PlanNode, withInner } from './plan.ts';
import { isReference, referencedNodes } from './plan-references.ts';

/** More nodes than anybody reads. */
const MAX_NODES = 200;
/** More elements than a plan may have nodes are for several runs. */
export const MOST_ELEMENTS = 200;
/** What a name inside a loop is told by: `<loop>[<round>]/<node>`. */
const LOOP_PUNCTUATION = /[[\]/]/;

/** Everything a node waits for: what it names, and what it, or what stands inside it, refers to. */
export function dependenciesOf(node: PlanNode): readonly string[] {
  return [...new Set([...node.dependsOn, ...referencedNodes(givenTo(node)), ...referredToInside(node)])];
}

/** What the nodes inside a loop need from outside it. */
function referredToInside(node: PlanNode): readonly string[] {
  if (!isLoop(node)) return [];
  const inside = new Set(withInner(node).map(({ id }) => id));
  return node.nodes.flatMap(dependenciesOf).filter((id) => !inside.has(id));
}

/** What keeps an agent from working through a plan, in words that name the node; null where it may run. */
export function faultOfPlanFor(
  { config, tools }: Pick<AgentSetup, 'config' | 'tools'>,
  plan: readonly PlanNode[],
) {
  const { toolCalls } = config.limits;
  const calls = plan.flatMap(withInner).filter((node) => !isLoop(node)).length;
  if (toolCalls !== null && calls > toolCalls) {
    return `The plan has ${calls} nodes, and a run of this agent may make ${toolCalls} calls.`;
  }
  const names = new Set(tools().map(({ name }) => name));
  return faultOfPlan(plan, {
    hasTool: (name) => names.has(name),
    mayCallAgent: (id) => id === config.id || config.delegates.includes(id),
  });
}

interface Known {
  hasTool(name: string): boolean;
  mayCallAgent(id: AgentId): boolean;
}

/** What is wrong with a plan, in words that name the node; null where it may run. Checked before anything runs. */
export function faultOfPlan(plan: readonly PlanNode[], known: Known): string | null {
  if (plan.length === 0) return 'The plan has no nodes.';
  const all = plan.flatMap(withInner);
  if (all.length > MAX_NODES) return `The plan has ${all.length} nodes; the limit is ${MAX_NODES}.`;
  const hasLoops = all.some(isLoop);
  const ids = new Set<string>();
  for (const { id } of all) {
    if (ids.has(id)) return `Node "${id}" is there twice.`;
    if (hasLoops && LOOP_PUNCTUATION.test(id)) {
      return `Node "${id}": in a plan with loops, an id holds no "[", "]" or "/".`;
    }
    ids.add(id);
  }
  return faultOfNodes(plan, { ids, visible: new Set(), known });
}

interface Surroundings {
  /** Of the whole plan. */
  readonly ids: ReadonlySet<string>;
  /** What may be referred to from outside these nodes: the loops around them, and what stands beside those. */
  readonly visible: ReadonlySet<string>;
  readonly known: Known;
}

function faultOfNodes(nodes: readonly PlanNode[], around: Surroundings): string | null {
  const here = new Set(nodes.map(({ id }) => id));
  const visible = new Set([...around.visible, ...here]);
  for (const node of nodes) {
    const fault =
      faultOfDependencies(node, here, { ...around, visible }) ??
      (isLoop(node)
        ? (faultOfLoop(node) ?? faultOfNodes(node.nodes, { ...around, visible }))
        : faultOfCall(node, around.known));
    if (fault !== null) return fault;
  }
  return faultOfOrder(nodes);
}

function faultOfDependencies(
  node: PlanNode,
  here: ReadonlySet<string>,
  { ids, visible }: Surroundings,
): string | null {
  const needed = [...node.dependsOn, ...referencedNodes(givenTo(node))];
  const missing = needed.find((id) => !ids.has(id));
  if (missing !== undefined) return `Node "${node.id}" depends on "${missing}", which is not in the plan.`;
  const hidden = needed.find((id) => !visible.has(id));
  if (hidden !== undefined) {
    return `Node "${node.id}" depends on "${hidden}", which stands inside a loop; outside that, refer to the loop.`;
  }
  const outside = node.dependsOn.find((id) => !here.has(id));
  if (outside === undefined) return null;
  return `Node "${node.id}" depends on "${outside}", which does not stand in the same loop; let the loop depend on it.`;
}

function faultOfLoop(node: LoopNode): string | null {
  if (node.nodes.length === 0) return `The loop "${node.id}" has no nodes.`;
  if (node.kind === 'repeat') return null;
  const { id, list } = node;
  if (!Array.isArray(list)) {
    return isReference(list)
      ? null
      : `The loop "${id}" goes through what is neither a list nor a reference to one.`;
  }
  if (list.length > MOST_ELEMENTS) {
    return `The list of the loop "${id}" has ${list.length} elements; the limit is ${MOST_ELEMENTS}.`;
  }
  const fault = faultOfArguments({ forEach: list });
  return fault === null ? null : `Node "${id}": ${fault}`;
}

function faultOfCall(node: Exclude<PlanNode, LoopNode>, known: Known): string | null {
  if (node.kind === 'agent') {
    if (!known.mayCallAgent(node.agent)) {
      return `Node "${node.id}" names the agent "${node.agent}", which this agent may not call.`;
    }
  } else if (!known.hasTool(node.tool)) {
    return `Node "${node.id}" names the tool "${node.tool}", which this agent does not have.`;
  }
  const fault = faultOfArguments(writtenIn(node));
  return fault === null ? null : `Node "${node.id}": ${fault}`;
}

/** All that a call has of its own; references in it are still references. */
const writtenIn = (node: Exclude<PlanNode, LoopNode>): JsonObject =>
  node.kind === 'tool'
    ? node.args
    : { agent: node.agent, input: node.input, ...(node.data !== undefined && { data: node.data }) };

/** Takes away what depends on nothing that is left, again and again; what then remains waits for itself. */
function faultOfOrder(nodes: readonly PlanNode[]): string | null {
  const left = new Map(nodes.map((node) => [node.id, dependenciesOf(node)]));
  for (;;) {
    const free = [...left].filter(([, dependencies]) => dependencies.every((id) => !left.has(id)));
    if (free.length === 0) break;
    for (const [id] of free) left.delete(id);
  }
  return left.size === 0
    ? null
    : `The nodes ${[...left.keys()].map((id) => `"${id}"`).join(', ')} wait for one another.`;
}
