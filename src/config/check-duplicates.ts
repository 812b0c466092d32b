import { type Declared, repeatedIn } from './declared-names.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';

/** Each name means one thing. */
export function checkDuplicates({ names, agents }: Draft, collector: FaultCollector): void {
  for (const section of ['people', 'channels', 'policies', 'agents', 'apiKeys', 'connectors'] as const)
    for (const { path, first } of repeatedIn(names[section]))
      collector.fault([...path, 'id'], `is the id of ${first} already: choose another`);
  for (const { path, first } of repeatedIn(names.tools.filter(({ name }) => !name.endsWith('*'))))
    collector.fault([...path, 'name'], `makes the same full name as ${first}: choose another`);
  for (const { path, value } of agents) {
    const hooks = value.hooks.class_hooks.map(
      ({ name }, index): Declared => ({ name, path: [...path, 'hooks', 'class_hooks', index] }),
    );
    for (const repeated of repeatedIn(hooks))
      collector.fault(repeated.path, `is there already as ${repeated.first}`);
  }
}
