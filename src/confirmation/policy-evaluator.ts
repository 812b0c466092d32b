import type { Config, PolicyConfig, PolicyRule } from '../config/config.ts';
import { compileGlobs } from '../glob.ts';
import { type CompiledCondition, type ConditionFacts, compileCondition } from './condition.ts';
import { isAtLeastAsStrict } from './policy-evaluator-strictness.ts';

/** One call as the policies see it. */
export interface PolicyQuestion extends ConditionFacts {
  /** The tool requires a confirmation, or the agent has every call confirmed: gated even where no policy matches. */
  readonly flagged: boolean;
}

export type DecidingPolicy = { readonly id: string } & PolicyRule;

export type PolicyAnswer =
  /** Nothing asks for a confirmation. */
  | { readonly kind: 'none' }
  | { readonly kind: 'policy'; readonly policy: DecidingPolicy }
  /** No tier could be chosen: the call must not run (`policy_error`). `argument` is the one at fault, where known. */
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly argument: string | null;
      readonly policyId: string;
    };

export interface PolicyEvaluator {
  evaluate(question: PolicyQuestion): PolicyAnswer;
}

/** What requests under `defaultPolicy` name as their policy. */
export const DEFAULT_POLICY_ID = 'default';

/**
 * The first policy that matches decides. One whose condition reads what the agent says about itself can only
 * tighten: it is passed over where the call would otherwise be decided by a rule that it is not at least as strict
 * as. Throws for a condition that does not compile; a loaded configuration has none.
 */
export function createPolicyEvaluator(config: Pick<Config, 'policies' | 'defaultPolicy'>): PolicyEvaluator {
  const policies = config.policies.map(preparePolicy);
  const { defaultPolicy } = config;

  const lastResort = (flagged: boolean): PolicyAnswer => {
    if (!flagged) return { kind: 'none' };
    if (defaultPolicy !== null)
      return { kind: 'policy', policy: { ...defaultPolicy, id: DEFAULT_POLICY_ID } };
    // Refused when the configuration is loaded; here only so that no way around that leads to "not needed".
    const message = 'This call needs a confirmation, and no policy says whose.';
    return { kind: 'failed', message, argument: null, policyId: DEFAULT_POLICY_ID };
  };

  /** What decides without the policies that read the agent's input. */
  const decideTrusted = (candidates: readonly PreparedPolicy[], question: PolicyQuestion): PolicyAnswer => {
    for (const policy of candidates) {
      if (policy.usesAgentInput) continue;
      const matched = policy.matches(question);
      if (matched.kind === 'failed') return { ...matched, policyId: policy.config.id };
      if (matched.value) return { kind: 'policy', policy: withoutCondition(policy.config) };
    }
    return lastResort(question.flagged);
  };

  return {
    evaluate(question) {
      const candidates = policies.filter((policy) => policy.covers(question.tool));
      let trusted: PolicyAnswer | undefined;
      for (const policy of candidates) {
        const matched = policy.matches(question);
        if (matched.kind === 'failed') return { ...matched, policyId: policy.config.id };
        if (!matched.value) continue;
        if (policy.usesAgentInput) {
          trusted ??= decideTrusted(candidates, question);
          if (trusted.kind === 'failed') return trusted;
          if (trusted.kind === 'policy' && !isAtLeastAsStrict(policy.config, trusted.policy)) continue;
        }
        return { kind: 'policy', policy: withoutCondition(policy.config) };
      }
      return lastResort(question.flagged);
    },
  };
}

interface PreparedPolicy {
  readonly config: PolicyConfig;
  readonly usesAgentInput: boolean;
  covers(tool: string): boolean;
  matches(facts: ConditionFacts): ReturnType<Extract<CompiledCondition, { kind: 'compiled' }>['evaluate']>;
}

const ALWAYS = { kind: 'value', value: true } as const;

function preparePolicy(config: PolicyConfig): PreparedPolicy {
  const covers = compileGlobs(config.tools);
  if (config.when === null) return { config, covers, usesAgentInput: false, matches: () => ALWAYS };
  const condition = compileCondition(config.when);
  if (condition.kind === 'faulty')
    throw new Error(`The condition of policy ${config.id} does not compile: ${condition.message}`);
  return { config, covers, usesAgentInput: condition.usesAgentInput, matches: condition.evaluate };
}

const withoutCondition = ({ tools: _tools, when: _when, ...policy }: PolicyConfig): DecidingPolicy => policy;
