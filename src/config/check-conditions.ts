import { compileCondition } from '../confirmation/condition.ts';
import { isAtLeastAsStrict } from '../confirmation/policy-evaluator-strictness.ts';
import { globsOverlap } from '../glob.ts';
import type { PolicyConfig } from './config.ts';
import type { FaultCollector } from './fault-collector.ts';
import type { ResolvedPolicies } from './resolved-policies.ts';

/** Conditions have to compile; those that read the agent's input should not stand where they can never decide. */
export function checkConditions({ policies }: ResolvedPolicies, collector: FaultCollector): void {
  const readAgentInput = new Set<PolicyConfig>();
  for (const { path, value } of policies) {
    if (value.when === null) continue;
    const condition = compileCondition(value.when);
    if (condition.kind === 'faulty') {
      const column = condition.column === null ? '' : ` (at character ${condition.column})`;
      collector.fault([...path, 'when'], `is not a condition: ${condition.message}${column}`);
    } else if (condition.usesAgentInput) readAgentInput.add(value);
  }
  for (const { path, value } of policies) {
    if (!readAgentInput.has(value)) continue;
    const stricter = policies.find(
      ({ value: other }) =>
        !readAgentInput.has(other) &&
        value.tools.some((tool) => other.tools.some((pattern) => globsOverlap(tool, pattern))) &&
        !isAtLeastAsStrict(value, other),
    );
    if (stricter !== undefined)
      collector.warning(
        [...path, 'when'],
        `reads what the agent sends, so it is passed over where ${stricter.value.id} matches, which is stricter`,
      );
  }
}
