import { type Declared, repeatedIn } from './declared-names.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';

/** A key that opens two doors would let one caller pass for another. */
export function checkCredentials({ apiKeys, people }: Draft, collector: FaultCollector): void {
  const keys: Declared[] = [
    ...apiKeys.map(({ path, value }) => ({ name: value.key, path: [...path, 'key'] })),
    ...people.flatMap(({ path, value: { person } }) =>
      person.consoleKey === null ? [] : [{ name: person.consoleKey, path: [...path, 'consoleKey'] }],
    ),
  ];
  for (const { path, first } of repeatedIn(keys)) collector.fault(path, `is the same secret as ${first}`);
}
