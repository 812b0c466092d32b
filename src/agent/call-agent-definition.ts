import type { AgentId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { definitionDigest } from './tool-version.ts';

/** The tool by which an agent hands work to one of its delegates. No connector can own a name without `__`. */
export const CALL_AGENT = 'call_agent';

export const CALL_AGENT_DESCRIPTION =
  'Hands a piece of work to another agent and answers with what that agent says.';

export const callAgentParameters = (delegates: readonly AgentId[]): JsonObject => ({
  type: 'object',
  required: ['agent', 'input'],
  additionalProperties: false,
  properties: {
    agent: { type: 'string', enum: [...delegates], description: 'Which agent.' },
    input: { type: 'string', description: 'What it should do, with all that it has to know.' },
  },
});

/** The same for every agent: whom it may call is its configuration, not another tool. */
export const CALL_AGENT_VERSION = definitionDigest({
  name: CALL_AGENT,
  description: CALL_AGENT_DESCRIPTION,
  parameters: callAgentParameters([]),
});
