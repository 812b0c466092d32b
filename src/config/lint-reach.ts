import type { PersonId } from '../ids.ts';
import type { PolicyRule } from './config.ts';
import type { ConfigPath } from './config-fault.ts';
import type { Draft, Entry } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import type { Lint } from './lint-config.ts';

/** Approvers, delegates and people of an escalation whom no card reaches and who cannot vote in any other way either. */
export const lintReach: Lint = ({ draft, resolved }, findings) => {
  const { policies, defaultPolicy, floor } = resolved;
  for (const entry of [...policies, defaultPolicy, floor])
    if (entry !== null) lintRule(draft, entry, findings);
};

function lintRule(draft: Draft, { path, value: rule }: Entry<PolicyRule>, findings: FaultCollector): void {
  const told = new Set<PersonId>();
  const report = (id: PersonId, place: ConfigPath, what: string): void => {
    if (told.has(id) || isReached(draft, id, rule)) return;
    told.add(id);
    findings.warning(
      place,
      `${what} ${id}, who can vote neither in the chats of this rule nor with a consoleKey: ` +
        'add their account or a key to `people`, or a channel to `channels`',
    );
  };
  for (const [index, { people }] of rule.named.entries())
    for (const id of people.filter((person) => rule.approvers.includes(person)))
      report(id, [...path, 'approvers', index], 'names');
  for (const id of rule.escalation?.to ?? []) report(id, [...path, 'escalateAfter', 'to'], 'adds');
  for (const { path: at, value } of draft.people) {
    const { id, away } = value.person;
    if (away?.delegate && rule.approvers.includes(id))
      report(away.delegate, [...at, 'away', 'delegate'], 'is');
  }
}

function isReached({ people, channels }: Draft, id: PersonId, rule: PolicyRule): boolean {
  const entry = people.find(({ value }) => value.person.id === id)?.value;
  if (entry === undefined) return false;
  return (
    entry.person.consoleKey !== null ||
    channels.some(({ value }) => rule.channels.includes(value.id) && entry.channelKinds.includes(value.kind))
  );
}
