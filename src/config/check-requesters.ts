import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import { nearest } from './schema-faults.ts';

/** A key may name people as requesters; a plain name among its patterns has to be somebody's. */
export function checkRequesters({ apiKeys, names }: Draft, collector: FaultCollector): void {
  const people = names.people.map(({ name }) => name);
  for (const { path, value: key } of apiKeys) {
    for (const [index, requester] of key.requesters.entries())
      if (!requester.includes('*') && !people.includes(requester))
        collector.fault(
          [...path, 'requesters', index],
          `names a person that is not there: ${requester}${nearest(requester, people)}`,
        );
    if (key.role === 'agent' && key.agents.length === 0)
      collector.warning([...path, 'agents'], 'is empty: this key can speak for no agent');
  }
}
