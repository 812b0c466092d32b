import type { Config, PolicyConfig, PolicyRule } from '../config/config.ts';
import { compileGlobs } from '../glob.ts';
import type { PersonId } from '../ids.ts';
import { applyFloor } from './apply-floor.ts';
import { type CompiledCondition, type ConditionFacts, compileCondition } from './condition.ts';
import { prepareExcluded } from './excluded-of-rules.ts';
import { isAtLeastAsStrict } from './policy-evaluator-strictness.ts';

/** One call as the policies see it. */
export interface PolicyQuestion extends ConditionFacts {
  /** The tool requires a confirmation, or the agent has every call confirmed: gated even where no policy matches. */
  readonly flagged: boolean;
}

export type DecidingPolicy = PolicyRule & {
  readonly id: string;
  /** Whom `excluded` names for this call: people who may not approve it. */
  readonly excludedPeople: readonly PersonId[];
  /** Whether the floor covered the call. */
  readonly floor: boolean;
};

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
 * as. Where the floor covers the call, nothing decides below it, and what no policy gates it gates by itself. Throws
 * for a text that does not compile; a loaded configuration has none.
 */
export function createPolicyEvaluator(
  config: Pick<Config, 'policies' | 'defaultPolicy' | 'floor' | 'people'>,
): PolicyEvaluator {
  const policies = config.policies.map(preparePolicy);
  const { defaultPolicy } = config;
  const floor = config.floor && { ...preparePolicy(config.floor), config: config.floor };
  const excludedBy = prepareExcluded(config);

  const lastResort = (flagged: boolean): MatchedRule => {
    if (!flagged) return { kind: 'none' };
    if (defaultPolicy !== null)
      return { kind: 'policy', policy: { ...defaultPolicy, id: DEFAULT_POLICY_ID } };
    // Refused when the configuration is loaded; here only so that no way around that leads to "not needed".
    const message = 'This call needs a confirmation, and no policy says whose.';
    return { kind: 'failed', message, argument: null, policyId: DEFAULT_POLICY_ID };
  };

  /** What decides without the policies that read the agent's input. */
  const decideTrusted = (candidates: readonly PreparedPolicy[], question: PolicyQuestion): MatchedRule => {
    for (const policy of candidates) {
      if (policy.usesAgentInput) continue;
      const matched = policy.matches(question);
      if (matched.kind === 'failed') return { ...matched, policyId: policy.config.id };
      if (matched.value) return { kind: 'policy', policy: withoutCondition(policy.config) };
    }
    return lastResort(question.flagged);
  };

  const firstMatch = (question: PolicyQuestion): MatchedRule => {
    const candidates = policies.filter((policy) => policy.covers(question.tool));
    let trusted: MatchedRule | undefined;
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
  };

  return {
    evaluate(question) {
      const match = firstMatch(question);
      if (match.kind === 'failed') return match;
      const covering = floor?.covers(question.tool) ? floor.matches(question) : NEVER;
      if (covering.kind === 'failed') return { ...covering, policyId: config.floor?.id ?? '' };
      const above = covering.value ? config.floor : null;
      const matched = match.kind === 'policy' ? match.policy : above && withoutCondition(above);
      if (matched === null) return { kind: 'none' };
      const excluded = excludedBy(above === null ? [matched] : [matched, above], question);
      if (excluded.kind === 'failed') return { ...excluded, policyId: matched.id };
      const rule = above === null ? matched : { ...applyFloor(matched, above), id: matched.id };
      return {
        kind: 'policy',
        policy: { ...rule, excludedPeople: excluded.people, floor: above !== null },
      };
    },
  };
}

/** What matched, before the floor and before anybody is excluded. */
type MatchedRule =
  | Exclude<PolicyAnswer, { readonly kind: 'policy' }>
  | { readonly kind: 'policy'; readonly policy: PolicyRule & { readonly id: string } };

interface PreparedPolicy {
  readonly config: PolicyConfig;
  readonly usesAgentInput: boolean;
  covers(tool: string): boolean;
  matches(facts: ConditionFacts): ReturnType<Extract<CompiledCondition, { kind: 'compiled' }>['evaluate']>;
}

const ALWAYS = { kind: 'value', value: true } as const;
const NEVER = { kind: 'value', value: false } as const;

function preparePolicy(config: PolicyConfig): PreparedPolicy {
  const covers = compileGlobs(config.tools);
  if (config.when === null) return { config, covers, usesAgentInput: false, matches: () => ALWAYS };
  const condition = compileCondition(config.when);
  if (condition.kind === 'faulty')
    throw new Error(`The condition of policy ${config.id} does not compile: ${condition.message}`);
  return { config, covers, usesAgentInput: condition.usesAgentInput, matches: condition.evaluate };
}

const withoutCondition = ({
  tools: _tools,
  when: _when,
  ...policy
}: PolicyConfig): PolicyRule & { readonly id: string } => policy;
