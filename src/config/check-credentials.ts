import { type Declared, repeatedIn } from './declared-names.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';

/** Shorter keys can be guessed; they are let in, for trying things out, with a warning. */
const SHORTEST_SAFE_KEY = 16;

/** A key that opens two doors would let one caller pass for another. */
export function checkCredentials({ apiKeys, people }: Draft, collector: FaultCollector): void {
  const keys: Declared[] = [
    ...apiKeys.map(({ path, value }) => ({ name: value.key, path: [...path, 'key'] })),
    ...people.flatMap(({ path, value: { person } }) =>
      person.consoleKey === null ? [] : [{ name: person.consoleKey, path: [...path, 'consoleKey'] }],
    ),
  ];
  for (const { name, path } of keys) {
    if (name.length < SHORTEST_SAFE_KEY) {
      collector.warning(path, `is shorter than ${SHORTEST_SAFE_KEY} characters and could be guessed`);
    }
  }
  for (const { path, first } of repeatedIn(keys)) collector.fault(path, `is the same secret as ${first}`);
}
