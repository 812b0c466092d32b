import type { ErrorCode } from '../errors.ts';

/** Why a run failed, beside the codes of `errors.ts`; the message of a run says it in words. */
export const RUN_FAILURES = {
  model_failed: 'The model gave no usable answer, after three attempts.',
  max_turns: 'The agent did not come to an end within its turns.',
  max_tool_calls: 'The agent asked for more calls than a run of it may make.',
  max_wall_time: 'The run took longer than it may, not counting what it waited for people.',
  max_tokens: 'The run used more tokens than it may.',
  no_plan: 'The model gave no plan that can run, in three attempts.',
  plan_changed: 'The plan names a tool or an agent that is no longer there for the agent.',
  answer_cut: 'The answer of the model was cut off at its greatest length, twice in a row.',
  answer_withheld: 'The provider of the model held back its answer (content filter).',
  empty_answer: 'The model answered with nothing, twice in a row.',
  agent_unavailable: 'The agent, its model or its hooks cannot be set up; mend the configuration.',
  node_blocked: 'A node of the plan was blocked and the plan says that this fails the run.',
  node_failed: 'A node of the plan failed.',
  interrupted:
    'The service met a fault again and again while it worked on the run; an operator finds it in the log.',
} as const;

export interface RunFailure {
  readonly code: keyof typeof RUN_FAILURES | ErrorCode;
  readonly message: string;
}
