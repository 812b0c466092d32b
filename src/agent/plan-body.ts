import { z } from 'zod';
import { faultOfArguments } from '../confirmation/arguments.ts';
import { CountersignError } from '../errors.ts';
import { agentId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { isLoop, type LoopNode, ON_REJECTED, type OnRejected, type PlanNode, REPEATED_ON } from './plan.ts';

/** More nodes than any plan needs, few enough to check at once. */
const MOST_NODES = 1000;
/** Each round may ask people anew. */
export const MOST_ROUNDS = 10;

const name = z
  .string()
  .min(1)
  .max(200)
  .refine((value) => !value.includes('\u0000'), { message: 'must not hold a NUL character' });

/** Looked at no further here, however large. */
const jsonObject = z
  .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    message: 'must be a JSON object',
  })
  .meta({ type: 'object', additionalProperties: true });

const list = z
  .custom<JsonValue>((value) => typeof value === 'object' && value !== null, {
    message: 'must be a list, or a reference to one',
  })
  .meta({
    anyOf: [
      { type: 'array', items: {} },
      { type: 'object', additionalProperties: true },
    ],
  });

const repeat = z.strictObject({
  atMost: z.int().min(2).max(MOST_ROUNDS),
  on: z.array(z.enum(REPEATED_ON)).min(1).max(REPEATED_ON.length).default(['rejected']),
});

const call = {
  id: name,
  tool: name.optional(),
  agent: name.optional(),
  args: jsonObject.optional(),
  input: z.string().optional(),
  data: jsonObject.optional(),
  dependsOn: z.array(name).max(MOST_NODES).default([]),
  onRejected: z.enum(ON_REJECTED).default('fail'),
};

const callBody = z.strictObject(call);

const callOrLoop = <Inner extends z.ZodType>(inner: Inner) =>
  z.strictObject({
    ...call,
    forEach: list.optional(),
    repeat: repeat.optional(),
    nodes: z.array(inner).min(1).max(MOST_NODES).optional(),
  });

/** Loops in loops, and no deeper: nobody could follow what they ask for. */
const nodeBody = callOrLoop(callOrLoop(callBody));

/**
 * A plan as `POST /v1/runs` takes it, and as a model proposes it: each node calls a tool with `args` or an agent with
 * `input`, or is a loop (`forEach`, `repeat`) around `nodes` of its own.
 */
export const planBody = z.strictObject({ nodes: z.array(nodeBody).min(1).max(MOST_NODES) });

/** A node of any depth. */
interface NodeBody {
  readonly id: string;
  readonly tool?: string | undefined;
  readonly agent?: string | undefined;
  readonly args?: JsonObject | undefined;
  readonly input?: string | undefined;
  readonly data?: JsonObject | undefined;
  readonly dependsOn: readonly string[];
  readonly onRejected: OnRejected;
  readonly forEach?: JsonValue | undefined;
  readonly repeat?: z.infer<typeof repeat> | undefined;
  readonly nodes?: readonly NodeBody[] | undefined;
}

/** The nodes of a plan. Throws `invalid_plan` or `invalid_arguments`, naming the node; edges are the executor's to check. */
export const planNodes = (plan: z.infer<typeof planBody>): PlanNode[] => plan.nodes.map(planNode);

function planNode(body: NodeBody): PlanNode {
  const { id, dependsOn, onRejected, tool, agent } = body;
  const edges = { id, dependsOn, onRejected };
  const kinds = [tool, agent, body.forEach, body.repeat].filter((kind) => kind !== undefined);
  if (kinds.length !== 1) {
    throw refusal(
      id,
      'must name either a `tool` or an `agent`, or be a loop with either `forEach` or `repeat`',
    );
  }
  if (tool !== undefined) {
    refuseOthers(body, ['args'], 'calls a tool');
    const args = body.args ?? {};
    refuseUnkeepable(id, args);
    return { ...edges, kind: 'tool', tool, args };
  }
  if (agent !== undefined) {
    refuseOthers(body, ['input', 'data'], 'calls an agent');
    const { input, data } = body;
    if (input === undefined) throw refusal(id, 'calls an agent without an `input`');
    refuseUnkeepable(id, data ?? {});
    return { ...edges, kind: 'agent', agent: agentId(agent), input, ...(data !== undefined && { data }) };
  }
  refuseOthers(body, ['nodes'], 'is a loop');
  if (body.nodes === undefined) throw refusal(id, 'is a loop without `nodes`');
  refuseUnkeepable(id, { forEach: body.forEach ?? [] });
  const nodes = body.nodes.map(planNode);
  return body.repeat === undefined
    ? { ...edges, kind: 'for-each', list: body.forEach ?? [], nodes }
    : { ...edges, kind: 'repeat', ...body.repeat, nodes };
}

function refuseUnkeepable(id: string, given: JsonObject): void {
  const fault = faultOfArguments(given);
  if (fault !== null) throw new CountersignError('invalid_arguments', `Node ${id}: ${fault}`);
}

const OWN_KEYS = ['args', 'input', 'data', 'nodes'] as const;

function refuseOthers(body: NodeBody, own: readonly (typeof OWN_KEYS)[number][], what: string): void {
  const foreign = OWN_KEYS.find((key) => body[key] !== undefined && !own.includes(key));
  if (foreign === undefined) return;
  const takes = own.map((key) => `\`${key}\``).join(' and ');
  throw refusal(body.id, `${what} and has \`${foreign}\`; it takes ${takes}`);
}

const refusal = (id: string, what: string) => new CountersignError('invalid_plan', `Node ${id} ${what}.`);

/** A stored plan in the shape in which it is given. */
export const planJson = (plan: readonly PlanNode[]): z.infer<typeof planBody> =>
  ({ nodes: plan.map(nodeJson) }) as z.infer<typeof planBody>;

function nodeJson(node: PlanNode): NodeBody {
  const { id, dependsOn, onRejected } = node;
  const edges = { dependsOn, onRejected };
  if (isLoop(node)) return { id, ...loopJson(node), nodes: node.nodes.map(nodeJson), ...edges };
  if (node.kind === 'tool') return { id, tool: node.tool, args: node.args, ...edges };
  const { agent, input, data } = node;
  return { id, agent, input, ...(data !== undefined && { data }), ...edges };
}

const loopJson = (node: LoopNode) =>
  node.kind === 'for-each' ? { forEach: node.list } : { repeat: { atMost: node.atMost, on: [...node.on] } };
