import { type Declared, repeatedIn } from './declared-names.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';

/** One chat account is one person; otherwise nobody could tell who tapped, and every tap of theirs is refused. */
export function checkAccounts({ people }: Draft, collector: FaultCollector): void {
  const accounts = people.flatMap(({ path, value: { person, channelKinds } }) =>
    person.identities.flatMap(({ provider, tenant, ids }, index) =>
      Object.entries(ids).map(
        ([idKind, id]): Declared => ({
          name: JSON.stringify([provider, tenant, idKind, id]),
          path: [...path, channelKinds[index] ?? provider],
        }),
      ),
    ),
  );
  for (const { path, first } of repeatedIn(accounts))
    collector.fault(path, `is the same account as ${first}: give it to one of the two`);
}
