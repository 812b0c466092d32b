import type { PolicyRule } from '../config/config.ts';
import type { JsonObject } from '../json.ts';

/** What policies are asked about a call. `metadata` and `session` come from the agent and can only tighten. */
export interface PolicyQuestion {
  readonly tool: string;
  readonly args: JsonObject;
  readonly agent: string;
  /** A person's id. */
  readonly requester: string;
  readonly session: string;
  readonly metadata: JsonObject;
  /** Gated even where no policy matches: then the default policy applies. */
  readonly flagged: boolean;
}

export type DecidingPolicy = PolicyRule & { readonly id: string };

export type PolicyMatch =
  | { readonly kind: 'none' }
  | { readonly kind: 'policy'; readonly policy: DecidingPolicy }
  /** A condition could not be evaluated: it chooses no tier, and the call is denied. */
  | {
      readonly kind: 'failed';
      readonly policyId: string | null;
      readonly message: string;
      readonly argument: string | null;
    };

/** Which rule applies to a call: the first that matches, or the default one for a flagged call. */
export interface PolicyEvaluator {
  evaluate(question: PolicyQuestion): PolicyMatch;
}
