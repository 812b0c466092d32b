import { compileCondition } from '../confirmation/condition.ts';
import { compileExcluded } from '../confirmation/excluded-people.ts';
import { isAtLeastAsStrict } from '../confirmation/policy-evaluator-strictness.ts';
import { globsOverlap } from '../glob.ts';
import type { FloorConfig, PolicyConfig, PolicyRule } from './config.ts';
import type { Entry } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import type { ResolvedPolicies } from './resolved-policies.ts';

/** Conditions have to compile; those that read the agent's input should not stand where they can never decide. */
export function checkConditions(resolved: ResolvedPolicies, collector: FaultCollector): void {
  const { policies, defaultPolicy, floor } = resolved;
  for (const entry of [...policies, defaultPolicy, floor])
    if (entry !== null) checkExcluded(entry, collector);
  if (floor !== null) checkFloor(floor, collector);
  const readAgentInput = new Set<PolicyConfig>();
  for (const { path, value } of policies) {
    if (value.when === null) continue;
    const condition = compileCondition(value.when);
    if (condition.kind === 'faulty')
      collector.fault([...path, 'when'], `is not a condition: ${faultText(condition)}`);
    else if (condition.usesAgentInput) readAgentInput.add(value);
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

function checkExcluded({ path, value }: Entry<PolicyRule>, collector: FaultCollector): void {
  if (value.excluded === null) return;
  const place = [...path, 'excluded'];
  const excluded = compileExcluded(value.excluded);
  if (excluded.kind === 'faulty') collector.fault(place, `does not say who: ${faultText(excluded)}`);
  else if (excluded.usesAgentInput)
    collector.warning(place, 'reads what the agent sends, which may leave out whom it should name');
}

function checkFloor({ path, value }: Entry<FloorConfig>, collector: FaultCollector): void {
  if (value.when === null) return;
  const place = [...path, 'when'];
  const condition = compileCondition(value.when);
  if (condition.kind === 'faulty') collector.fault(place, `is not a condition: ${faultText(condition)}`);
  else if (condition.usesAgentInput)
    collector.warning(place, 'reads what the agent sends, which may keep a call from the floor');
}

const faultText = ({
  message,
  column,
}: {
  readonly message: string;
  readonly column: number | null;
}): string => (column === null ? message : `${message} (at character ${column})`);
