import type { PersonId } from '../ids.ts';
import type { PolicyRule } from './config.ts';
import type { Draft, Entry } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import type { ResolvedPolicies } from './resolved-policies.ts';

/**
 * Where people are asked by direct messages alone, enough of them have to have an account where these can go: else
 * every request under the rule would wait for people who were never told. Whom none reaches is a warning.
 */
export function checkDirects(
  draft: Draft,
  { policies, defaultPolicy, floor }: ResolvedPolicies,
  collector: FaultCollector,
): void {
  // Whom an ill-formed channel reaches is not known, so nobody is reported for it.
  if (draft.channels.length < draft.names.channels.length) return;
  const rules: readonly (Entry<PolicyRule> | null)[] = [...policies, defaultPolicy, floor];
  for (const rule of rules) {
    if (rule === null || rule.value.notify !== 'direct') continue;
    const { approvers, escalation, quorum } = rule.value;
    // Nobody at all, or unknown names: that has been reported.
    if (approvers.length === 0) continue;
    const asked = [...new Set([...approvers, ...(escalation?.to ?? [])])];
    const unreached = asked.filter((id) => !isReached(draft, id, rule.value));
    if (unreached.length === 0) continue;
    const reached = asked.length - unreached.length;
    const named = `${unreached.join(', ')} ${unreached.length === 1 ? 'has' : 'have'} no account in these channels`;
    const place = [...rule.path, 'notify'];
    if (reached < quorum)
      collector.fault(
        place,
        `is direct, and ${reached} people could be written to where ${quorum} must approve: ${named}; add their accounts to people, or set group or both`,
      );
    else collector.warning(place, `is direct, and ${named}: nobody writes to them`);
  }
}

function isReached({ people, channels }: Draft, id: PersonId, { channels: asked }: PolicyRule): boolean {
  const kinds = people.find(({ value }) => value.person.id === id)?.value.channelKinds ?? [];
  return channels.some(({ value }) => asked.includes(value.id) && kinds.includes(value.kind));
}
