import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import { nearest } from './schema-faults.ts';

/** Whoever stands in for somebody has to be somebody else, and able to. */
export function checkAbsences({ people, names }: Draft, collector: FaultCollector): void {
  const known = names.people.map(({ name }) => name);
  for (const { path, value } of people) {
    const { id, away } = value.person;
    if (away === null || away.delegate === null) continue;
    const place = [...path, 'away', 'delegate'];
    const delegate = people.find((entry) => entry.value.person.id === away.delegate)?.value.person;
    if (!known.includes(away.delegate))
      collector.fault(
        place,
        `names a person that is not there: ${away.delegate}${nearest(away.delegate, known)}`,
      );
    else if (away.delegate === id)
      collector.fault(place, 'is the person who is away: name somebody else, or leave it out');
    else if (delegate?.active === false)
      collector.warning(place, `names somebody who is not active: ${away.delegate}`);
    else if (delegate?.away && overlap(away, delegate.away))
      collector.warning(
        place,
        `names somebody who is away in that time too: ${away.delegate}; nobody stands in for a delegate`,
      );
  }
}

interface Span {
  readonly from: Date | null;
  readonly until: Date | null;
}

const overlap = (a: Span, b: Span): boolean => beginsBeforeEnd(a, b) && beginsBeforeEnd(b, a);

const beginsBeforeEnd = ({ from }: Span, { until }: Span): boolean =>
  from === null || until === null || from < until;
