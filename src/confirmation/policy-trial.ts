import { z } from 'zod';

/** What became of one rule for one call, in the order in which rules were tried. */
export const TRIAL_OUTCOMES = [
  /** None of its tools is the one called; its condition was not looked at. */
  'tool_not_covered',
  'condition_false',
  /** It matched, but reads what the agent sends and is not as strict as what decides without it. */
  'passed_over',
  /** It has no value for this call, so that no tier was chosen at all. */
  'failed',
  /** It matched, and the rule is its own. */
  'decided',
  /** Of `default`: nothing requires a confirmation of this call. */
  'not_flagged',
  /** Of `floor`: it covers the call, and the rule that decided was brought up to it. */
  'raised',
] as const;

/** Kept with a request, so that it can be explained when the configuration has long been another. Holds no value of an argument. */
export const policyTrial = z.object({
  /** The policy's id, `default` or `floor`. */
  policy: z.string(),
  tools: z.array(z.string()),
  /** The text of the condition; null: always. */
  when: z.string().nullable(),
  outcome: z.enum(TRIAL_OUTCOMES),
  /** What the condition looked at: `args.amount`, `requester`; list elements read `args.lines[].price`. */
  reads: z.array(z.string()),
  /** Of a rule that was passed over: what decides without it, and is stricter. */
  stricter: z.string().nullable(),
  /** Of one that failed: why, in a sentence. */
  message: z.string().nullable(),
});
export type PolicyTrial = z.infer<typeof policyTrial>;
