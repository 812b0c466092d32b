import type { Clock } from '../clock.ts';
import { CountersignError } from '../errors.ts';
import type { ConfirmationId } from '../ids.ts';
import type { DecideInput, DecideOutcome } from './confirmation-service.ts';
import { type DecidePorts, decide, decideTogether } from './decide.ts';

/** One is on the way to the database while the other is being weighed. */
const LANES = 2;
/** One transaction holds no more requests than this, so that none waits long for its commit. */
const MOST_TOGETHER = 32;
/**
 * What fails sooner failed for one of its votes, and each is tried on its own. What fails later met a database that
 * does not answer: people have been told that it may not be recorded, and a vote is not tried behind their backs.
 */
const FAILED_AT_ONCE_MS = 1_000;
/** A vote that could not be begun for so long is not begun at all, for the same reason. */
const LONGEST_WAIT_MS = 10_000;

interface Waiting {
  readonly input: DecideInput;
  readonly since: number;
  resolve(outcome: DecideOutcome): void;
  reject(error: unknown): void;
}

export interface DecisionLanes {
  decide(input: DecideInput): Promise<DecideOutcome>;
  /** How many votes are here that are not answered yet. */
  size(): number;
}

/**
 * The one door through which people decide, for every surface. A decision that comes alone is made at once; those that
 * come while others are on their way are made together, in one transaction for many requests, which is what lets a
 * process keep up when hundreds of people tap. Of one request, one vote is on its way at a time.
 *
 * What cannot be decided together is decided on its own, and so is everything of a transaction that failed at once:
 * nobody's vote is lost to somebody else's fault.
 */
export function createDecisionLanes(ports: DecidePorts & { readonly clock: Clock }): DecisionLanes {
  const { clock } = ports;
  const waiting = new Set<Waiting>();
  const underway = new Set<ConfirmationId>();
  let lanesTaken = 0;
  let unanswered = 0;

  const hasWaitedLong = ({ since }: Waiting) => clock.monotonic() - since > LONGEST_WAIT_MS;

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
      if (hasWaitedLong(one)) {
        one.reject(new CountersignError('unavailable', 'The vote could not be recorded in time.'));
        continue;
      }
      underway.add(one.input.id);
      group.push(one);
    }
    return group;
  }

  async function makeTogether(group: readonly Waiting[]): Promise<void> {
    // Until it has a connection nothing has failed: a wait for one is no sign that the database does not answer.
    let begunAt = clock.monotonic();
    const onBegun = () => {
      begunAt = clock.monotonic();
    };
    const inputs = group.map(({ input }) => input);
    const made = await decideTogether(inputs, { ...ports, onBegun }).then(
      (outcomes) => ({ outcomes }),
      (error: unknown) => ({ error }),
    );
    lanesTaken -= 1;
    const isOver = clock.monotonic() - begunAt > FAILED_AT_ONCE_MS;
    for (const [index, one] of group.entries()) {
      if ('error' in made && (isOver || hasWaitedLong(one))) refuse(one, made.error);
      else void finish(one, 'outcomes' in made ? (made.outcomes[index] ?? null) : null);
    }
    fillLanes();
  }

  function refuse({ input, reject }: Waiting, error: unknown): void {
    underway.delete(input.id);
    reject(error);
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

  return {
    decide(input) {
      unanswered += 1;
      const answered = new Promise<DecideOutcome>((resolve, reject) => {
        waiting.add({ input, since: clock.monotonic(), resolve, reject });
        fillLanes();
      });
      return answered.finally(() => {
        unanswered -= 1;
      });
    },
    size: () => unanswered,
  };
}
