import { channelId, type PersonId, personId } from '../ids.ts';
import type { PersonConfig, PolicyRule } from './config.ts';
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
  checkNames(channels, [...path, 'channels'], rule.channels ?? [], collector);
  if (rule.channels?.length === 0)
    collector.fault(
      [...path, 'channels'],
      'is empty: nobody would be asked; name a channel, or leave it out for all of them',
    );
  else if (channels.length === 0 && gates)
    collector.fault(path, 'has nowhere to ask: no channel is configured; add one to channels');
  const approvers = resolvePeople(draft, [...path, 'approvers'], rule.approvers, collector);
  const asked = [...new Set(rule.channels ?? channels)];
  return {
    approvers,
    named: rule.approvers.map(({ kind, name }) => ({
      by: `${kind}:${name}`,
      people: membersOf(draft, { kind, name }).map(({ id }) => id),
    })),
    quorum: rule.quorum,
    allowSelfApproval: rule.allowSelfApproval,
    channels: asked.map(channelId),
    notify: rule.notify,
    fallback: fallbackOf(channels, path, { ...rule, asked }, collector),
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

function checkNames(
  known: readonly string[],
  path: ConfigPath,
  named: readonly string[],
  collector: FaultCollector,
): void {
  for (const [index, channel] of named.entries())
    if (!known.includes(channel))
      collector.fault(
        [...path, index],
        `names a channel that is not there: ${channel}${nearest(channel, known)}`,
      );
}

function fallbackOf(
  known: readonly string[],
  path: ConfigPath,
  rule: RuleEntry & { readonly asked: readonly string[] },
  collector: FaultCollector,
): PolicyRule['fallback'] {
  const { asked, fallback, fallbackAfter, decideWithin, deliveryTimeout } = rule;
  const after = [...path, 'fallbackAfter'];
  if (fallbackAfter !== null && fallback === null)
    collector.fault(after, 'needs fallback: the channels that are asked then');
  for (const [key, durationMs] of Object.entries({ decideWithin, deliveryTimeout }))
    if (fallbackAfter !== null && fallbackAfter >= durationMs)
      collector.fault(after, `has to be shorter than ${key}`);
  if (fallback === null) return null;
  const place = [...path, 'fallback'];
  checkNames(known, place, fallback, collector);
  for (const [index, channel] of fallback.entries())
    if (asked.includes(channel))
      collector.fault(
        [...place, index],
        `is asked in any case: ${channel} is one of the policy's channels; take it out here or there`,
      );
  return { channels: [...new Set(fallback)].map(channelId), afterMs: fallbackAfter };
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
    collector.fault(
      [...place, 'to'],
      'adds nobody who is not an approver already: name others, or leave escalateAfter out',
    );
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
    const members = membersOf({ people }, { kind, name });
    const active = members.filter((person) => person.active);
    if (active.length === 0 && members.length > 0)
      collector.warning(place, 'names nobody who is active: name others, or take it out');
    for (const person of active) found.add(person.id);
  }
  return [...found];
}

const membersOf = (
  { people }: Pick<Draft, 'people'>,
  { kind, name }: NamedPeople[number],
): readonly PersonConfig[] =>
  people
    .map(({ value }) => value.person)
    .filter((person) => (kind === 'person' ? person.id === personId(name) : person.groups.includes(name)));
