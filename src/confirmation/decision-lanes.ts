import type { ConfirmationId } from '../ids.ts';
import type { DecideInput, DecideOutcome } from './confirmation-service.ts';
import { type DecidePorts, decide, decideTogether } from './decide.ts';

/** One is on the way to the database while the other is being weighed. */
const LANES = 2;
/** One transaction holds no more requests than this, so that none waits long for its commit. */
const MOST_TOGETHER = 32;

interface Waiting {
  readonly input: DecideInput;
  resolve(outcome: DecideOutcome): void;
  reject(error: unknown): void;
}

/**
 * The one door through which people decide, for every surface. A decision that comes alone is made at once; those that
 * come while others are on their way are made together, in one transaction for many requests, which is what lets a
 * process keep up when hundreds of people tap. Of one request, one vote is on its way at a time.
 *
 * What cannot be decided together is decided on its own, and so is everything of a transaction that failed: nobody's
 * vote is lost to somebody else's fault.
 */
export function createDecisionLanes(ports: DecidePorts): (input: DecideInput) => Promise<DecideOutcome> {
  const waiting = new Set<Waiting>();
  const underway = new Set<ConfirmationId>();
  let lanesTaken = 0;

  function fillLanes() {
    while (lanesTaken < LANES) {
      const group = takeGroup();
      if (group.length === 0) return;
      lanesTaken += 1;
      void makeTogether(group);
    }
  }

  function takeGroup(): readonly Waiting[] {
    const group: Waiting[] = [];
    for (const one of waiting) {
      if (group.length === MOST_TOGETHER) break;
      if (underway.has(one.input.id)) continue;
      waiting.delete(one);
      underway.add(one.input.id);
      group.push(one);
    }
    return group;
  }

  async function makeTogether(group: readonly Waiting[]): Promise<void> {
    const inputs = group.map(({ input }) => input);
    const outcomes = await decideTogether(inputs, ports).catch(() => []);
    lanesTaken -= 1;
    for (const [index, one] of group.entries()) void finish(one, outcomes[index] ?? null);
    fillLanes();
  }

  /** Outside the lanes: one that waits for whoever holds its request keeps nobody else. */
  async function finish({ input, resolve, reject }: Waiting, outcome: DecideOutcome | null): Promise<void> {
    try {
      resolve(outcome ?? (await decide(input, ports)));
    } catch (error) {
      reject(error);
    } finally {
      underway.delete(input.id);
      fillLanes();
    }
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.add({ input, resolve, reject });
      fillLanes();
    });
}
