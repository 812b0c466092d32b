import { z } from 'zod';
import { faultOfArguments } from '../confirmation/arguments.ts';
import { CountersignError } from '../errors.ts';
import { agentId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { ON_REJECTED, type PlanNode } from './plan.ts';

/** More nodes than any plan needs, few enough to check at once. */
const MOST_NODES = 1000;

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

const nodeBody = z.strictObject({
  id: name,
  tool: name.optional(),
  agent: name.optional(),
  args: jsonObject.optional(),
  input: z.string().optional(),
  dependsOn: z.array(name).max(MOST_NODES).default([]),
  onRejected: z.enum(ON_REJECTED).default('fail'),
});

/** A plan as `POST /v1/runs` takes it, and as a model proposes it: each node calls a tool with `args`, or an agent with `input`. */
export const planBody = z.strictObject({ nodes: z.array(nodeBody).min(1).max(MOST_NODES) });

/** The nodes of a plan. Throws `invalid_plan` or `invalid_arguments`, naming the node; edges are the executor's to check. */
export const planNodes = (plan: z.infer<typeof planBody>): PlanNode[] => plan.nodes.map(planNode);

function planNode({ id, tool, agent, args, input, ...rest }: z.infer<typeof nodeBody>): PlanNode {
  const refuse = (what: string) => new CountersignError('invalid_plan', `Node ${id} ${what}.`);
  if (tool !== undefined && agent === undefined) {
    if (input !== undefined) throw refuse('calls a tool and has an `input`; a tool takes `args`');
    const fault = faultOfArguments(args ?? {});
    if (fault !== null) throw new CountersignError('invalid_arguments', `Node ${id}: ${fault}`);
    return { id, kind: 'tool', tool, args: args ?? {}, ...rest };
  }
  if (agent !== undefined && tool === undefined) {
    if (args !== undefined) throw refuse('calls an agent and has `args`; an agent takes an `input`');
    if (input === undefined) throw refuse('calls an agent without an `input`');
    return { id, kind: 'agent', agent: agentId(agent), input, ...rest };
  }
  throw refuse('must name either a `tool` or an `agent`');
}

/** A stored plan in the shape in which it is given. */
export const planJson = (plan: readonly PlanNode[]): z.infer<typeof planBody> => ({
  nodes: plan.map((node) => {
    const { id, dependsOn, onRejected } = node;
    const edges = { dependsOn: [...dependsOn], onRejected };
    return node.kind === 'tool'
      ? { id, tool: node.tool, args: node.args, ...edges }
      : { id, agent: node.agent, input: node.input, ...edges };
  }),
});
