/** Why a run failed, beside the codes of `errors.ts`; the message of a run says it in words. */
export const RUN_FAILURES = {
  model_failed: 'The model gave no usable answer, after three attempts.',
  max_turns: 'The agent did not come to an end within its turns.',
  empty_answer: 'The model answered with nothing, twice in a row.',
  agent_unavailable: 'The agent, its model or its hooks cannot be set up; mend the configuration.',
  node_blocked: 'A node of the plan was blocked and the plan says that this fails the run.',
  node_failed: 'A node of the plan failed.',
  interrupted:
    'The service met a fault again and again while it worked on the run; an operator finds it in the log.',
} as const;

export type RunFailureCode = keyof typeof RUN_FAILURES;
