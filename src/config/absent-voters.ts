import type { PersonId } from '../ids.ts';
import type { AbsenceConfig } from './config.ts';
import type { Draft } from './draft.ts';

/** From a moment on, how many people can fill the seats of some voters: the voters who are there, and delegates. */
export interface Attendance {
  readonly from: Date | null;
  readonly until: Date | null;
  readonly count: number;
}

/** The attendance at the beginning of each absence that a file plans; it can only fall there. */
export function* absencesIn({ people }: Draft, voters: readonly PersonId[]): Iterable<Attendance> {
  const byId = new Map(people.map(({ value }) => [value.person.id, value.person]));
  const isAway = (id: PersonId, at: Date | null): boolean => covers(byId.get(id)?.away ?? null, at);
  const seen = new Set<number | null>();
  for (const voter of voters) {
    const away = byId.get(voter)?.away;
    if (!away || seen.has(away.from?.getTime() ?? null)) continue;
    seen.add(away.from?.getTime() ?? null);
    const there = new Set<PersonId>();
    for (const id of voters) {
      const absence = byId.get(id)?.away ?? null;
      if (!covers(absence, away.from)) there.add(id);
      else if (absence?.delegate && !voters.includes(absence.delegate)) {
        const delegate = absence.delegate;
        if (byId.get(delegate)?.active === true && !isAway(delegate, away.from)) there.add(delegate);
      }
    }
    yield { from: away.from, until: away.until, count: there.size };
  }
}

/** Without a beginning, `at` is the time before all others. */
function covers(absence: AbsenceConfig | null, at: Date | null): boolean {
  if (absence === null) return false;
  if (at === null) return absence.from === null;
  return (absence.from === null || absence.from <= at) && (absence.until === null || at < absence.until);
}

export const spanText = (from: Date | null, until: Date | null): string =>
  [
    'while people are away',
    from === null ? null : `from ${from.toISOString()}`,
    until === null ? null : `until ${until.toISOString()}`,
  ]
    .filter((part) => part !== null)
    .join(' ');
