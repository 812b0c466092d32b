import { channelId, type PersonId, personId } from '../ids.ts';
import type { PolicyRule } from './config.ts';
import type { ConfigPath } from './config-fault.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import type { NamedPeople, RuleEntry } from './policies-section.ts';
import { nearest } from './schema-faults.ts';

/**
 * Puts people in the place of `person:` and `group:` (each once, active ones only) and every channel in the place of
 * none, and reports names that nobody has.
 */
export function resolveRule(
  draft: Draft,
  path: ConfigPath,
  rule: RuleEntry,
  collector: FaultCollector,
  /** Whether any call could come under the rule. */
  gates: boolean,
): PolicyRule {
  const channels = draft.names.channels.map(({ name }) => name);
  for (const [index, channel] of (rule.channels ?? []).entries())
    if (!channels.includes(channel))
      collector.fault(
        [...path, 'channels', index],
        `names a channel that is not there: ${channel}${nearest(channel, channels)}`,
      );
  if (rule.channels?.length === 0) collector.fault([...path, 'channels'], 'is empty: nobody would be asked');
  else if (channels.length === 0 && gates)
    collector.fault(path, 'has nowhere to ask: no channel is configured');
  const approvers = resolvePeople(draft, [...path, 'approvers'], rule.approvers, collector);
  return {
    approvers,
    quorum: rule.quorum,
    allowSelfApproval: rule.allowSelfApproval,
    channels: [...new Set(rule.channels ?? channels)].map(channelId),
    decideWithinMs: rule.decideWithin,
    executeWithinMs: rule.executeWithin,
    outcomeWithinMs: rule.outcomeWithin,
    deliveryTimeoutMs: rule.deliveryTimeout,
    reason: rule.reason,
    remindAfterMs: rule.remindAfter,
    escalation: escalationOf(draft, path, rule, approvers, collector),
    coolOffMs: rule.coolOff,
    excluded: rule.excluded,
  };
}

function escalationOf(
  draft: Draft,
  path: ConfigPath,
  { remindAfter, escalateAfter, decideWithin }: RuleEntry,
  approvers: readonly PersonId[],
  collector: FaultCollector,
): PolicyRule['escalation'] {
  if (remindAfter !== null && remindAfter >= decideWithin)
    collector.fault([...path, 'remindAfter'], 'has to be shorter than decideWithin');
  if (escalateAfter === null) return null;
  const place = [...path, 'escalateAfter'];
  if (escalateAfter.after >= decideWithin)
    collector.fault([...place, 'after'], 'has to be shorter than decideWithin');
  const named = resolvePeople(draft, [...place, 'to'], escalateAfter.to, collector);
  const to = named.filter((person) => !approvers.includes(person));
  if (named.length > 0 && to.length === 0)
    collector.fault([...place, 'to'], 'adds nobody who is not an approver already');
  return { afterMs: escalateAfter.after, to };
}

function resolvePeople(
  { people, names }: Draft,
  path: ConfigPath,
  named: NamedPeople,
  collector: FaultCollector,
): readonly PersonId[] {
  const known = { person: names.people.map(({ name }) => name), group: names.groups };
  const found = new Set<PersonId>();
  for (const [index, { kind, name }] of named.entries()) {
    const place = [...path, index];
    if (!known[kind].includes(name)) {
      collector.fault(place, `names a ${kind} that is not there: ${name}${nearest(name, known[kind])}`);
      continue;
    }
    const members = people
      .map(({ value }) => value.person)
      .filter((person) => (kind === 'person' ? person.id === personId(name) : person.groups.includes(name)));
    const active = members.filter((person) => person.active);
    if (active.length === 0 && members.length > 0) collector.warning(place, 'names nobody who is active');
    for (const person of active) found.add(person.id);
  }
  return [...found];
}
