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
        `reads what the agent sends, so it is passed over where ${stricter.value.id} matches, which is stricter: ` +
          'ask for at least as much as that one',
      );
  }
}

function checkExcluded({ path, value }: Entry<PolicyRule>, collector: FaultCollector): void {
  if (value.excluded === null) return;
  const place = [...path, 'excluded'];
  const excluded = compileExcluded(value.excluded);
  if (excluded.kind === 'faulty') collector.fault(place, `does not say who: ${faultText(excluded)}`);
  else if (excluded.usesAgentInput)
    collector.warning(
      place,
      'reads metadata or session, by which an agent could leave out whom it should name: ' +
        'ask about tool, args, agent and requester alone',
    );
}

function checkFloor({ path, value }: Entry<FloorConfig>, collector: FaultCollector): void {
  if (value.when === null) return;
  const place = [...path, 'when'];
  const condition = compileCondition(value.when);
  if (condition.kind === 'faulty') collector.fault(place, `is not a condition: ${faultText(condition)}`);
  // Nobody goes below the floor, least of all by saying that it does not apply.
  else if (condition.usesAgentInput)
    collector.fault(
      place,
      'reads metadata or session, by which an agent could keep its calls from the floor: ' +
        'ask about tool, args, agent and requester alone',
    );
}

const faultText = ({
  message,
  column,
}: {
  readonly message: string;
  readonly column: number | null;
}): string => (column === null ? message : `${message} (at character ${column})`);
