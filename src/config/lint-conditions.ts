import { compileCondition } from '../confirmation/condition.ts';
import { constantOf } from '../confirmation/constant-condition.ts';
import { isAtLeastAsStrict } from '../confirmation/policy-evaluator-strictness.ts';
import { compileGlobs, globCovers, globsOverlap } from '../glob.ts';
import type { PolicyConfig } from './config.ts';
import type { Entry } from './draft.ts';
import type { Lint } from './lint-config.ts';

/** Conditions that are the same for every call, and those that read the agent's input where they can never decide. */
export const lintConditions: Lint = ({ draft, resolved }, findings) => {
  const { policies, floor } = resolved;
  const people = new Set<string>(draft.people.map(({ value }) => value.person.id));
  for (const { path, value } of floor === null ? policies : [...policies, floor]) {
    if (value.when === null) continue;
    const covers = compileGlobs(value.tools);
    const constant = constantOf(value.when, {
      mayBeTool: covers,
      mayBeRequester: (id) => people.has(id),
    });
    if (constant === false)
      findings.warning(
        [...path, 'when'],
        'is false for every call, so this never decides: mend the condition, or take the policy out',
      );
    if (constant === true)
      findings.warning([...path, 'when'], 'is true for every call: leave `when` out, which says so');
  }
  const trusted = policies.filter(({ value }) => !readsAgentInput(value));
  for (const { path, value } of policies) {
    const stricter = readsAgentInput(value) ? alwaysStricter(value, trusted) : null;
    if (stricter !== null)
      findings.warning(
        path,
        `never decides: it reads what the agent sends, and ${stricter} decides the same calls and is stricter; ` +
          'ask for at least as much as that one, or take the policy out',
      );
  }
};

function readsAgentInput({ when }: PolicyConfig): boolean {
  if (when === null) return false;
  const condition = compileCondition(when);
  return condition.kind === 'compiled' && condition.usesAgentInput;
}

/** What decides in the place of the policy, whatever the call; null where it may decide sometimes. */
function alwaysStricter(policy: PolicyConfig, trusted: readonly Entry<PolicyConfig>[]): string | null {
  let stricter: string | null = null;
  for (const pattern of policy.tools) {
    let settled = false;
    for (const { value: other } of trusted) {
      if (!other.tools.some((tool) => globsOverlap(tool, pattern))) continue;
      if (isAtLeastAsStrict(policy, other)) return null;
      stricter = other.id;
      settled = other.when === null && other.tools.some((tool) => globCovers(tool, pattern));
      if (settled) break;
    }
    // Some calls come under none of them; there it may decide.
    if (!settled) return null;
  }
  return stricter;
}
