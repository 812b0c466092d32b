import type { AgentId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { OfferedTool } from './model.ts';
import { ON_REJECTED, REPEATED_ON } from './plan.ts';
import { MOST_ROUNDS } from './plan-body.ts';

/** The one tool that is offered to a model which plans; it is no tool of any connector, and runs nothing. */
export const PROPOSE_PLAN = 'propose_plan';

const CALL: JsonObject = {
  id: { type: 'string', description: 'A name of your own, unique within the plan; no "[", "]" or "/".' },
  tool: { type: 'string', description: 'Full name of the tool to call.' },
  args: {
    type: 'object',
    description:
      'Arguments of the tool. {"$from": "<node id>", "path": "<JSON Pointer>"} in the place of a value takes it out of the result of another node.',
  },
  agent: { type: 'string', description: 'The agent to hand a piece of work to.' },
  input: { type: 'string', description: 'What that agent should do, with all it has to know.' },
  data: { type: 'object', description: 'More for that agent to know; takes references as `args` does.' },
  dependsOn: {
    type: 'array',
    items: { type: 'string' },
    description: 'Nodes beside this one that have to end before it begins.',
  },
  onRejected: {
    type: 'string',
    enum: [...ON_REJECTED],
    description:
      'Where the call is not allowed: fail the plan (default), skip this node and what depends on it, or continue.',
  },
};

const nodesOf = (properties: JsonObject, description: string): JsonObject => ({
  type: 'array',
  minItems: 1,
  items: { type: 'object', required: ['id'], additionalProperties: false, description, properties },
});

const loopOver = (nodes: JsonObject): JsonObject => ({
  ...CALL,
  forEach: {
    description:
      'A list, or a reference to one: `nodes` run once for each element, side by side. Inside, {"$from": "<id of this loop>", "path": "/item"} is the element, and "/index" its place. The result is a list.',
  },
  repeat: {
    type: 'object',
    required: ['atMost'],
    additionalProperties: false,
    description:
      'Runs `nodes` again where a person rejects a call of theirs. Inside, {"$from": "<id of this loop>", "path": "/reason"} is what the person wrote; null in the first round.',
    properties: {
      atMost: { type: 'integer', minimum: 2, maximum: MOST_ROUNDS, description: 'Rounds in all.' },
      on: {
        type: 'array',
        items: { type: 'string', enum: [...REPEATED_ON] },
        description: 'Also where a tool failed; default ["rejected"].',
      },
    },
  },
  nodes,
});

const EITHER = 'Either `tool` with `args`, or `agent` with `input`';

export const proposePlanTool: OfferedTool = {
  name: PROPOSE_PLAN,
  description: 'Hands in the plan. It is checked, and then worked through without you.',
  parameters: {
    type: 'object',
    required: ['nodes'],
    additionalProperties: false,
    properties: {
      nodes: nodesOf(
        loopOver(nodesOf(CALL, `${EITHER}.`)),
        `${EITHER}, or a loop: \`forEach\` or \`repeat\`, with \`nodes\`.`,
      ),
    },
  },
};

/**
 * What a model has to know to plan. The tools stand in the text and not beside `propose_plan`: offered as tools, they
 * would be called one by one. Nothing forces the model's choice, since not every server takes that.
 */
export const planningInstructions = (tools: readonly OfferedTool[], agents: readonly AgentId[]): string => {
  const lines = tools.map(({ name, description, parameters }) =>
    JSON.stringify({ name, description, parameters }),
  );
  return [
    `You plan, and do not act. Call ${PROPOSE_PLAN} once, with a plan of nodes that does what is asked for.`,
    'Nodes run side by side unless one depends on another. Use only these tools, each with its JSON Schema:',
    ...lines,
    ...(agents.length === 0 ? [] : [`Agents that a node may hand work to: ${agents.join(', ')}.`]),
  ].join('\n');
};
