import type { Victim } from '../victim.ts';

/** What is wrong with what a kill left. */
export interface Fault {
  readonly kind: 'lost' | 'doubled';
  readonly what: string;
}

/** Asked of the process that goes on; null where all is as it should be. */
export type Verify = (victim: Victim) => Promise<Fault | null>;

/** What has to hold of one request or run that stood where the service was killed. */
export interface Check {
  /** Before the next process is killed. */
  readonly soon: Verify;
  /** Once all the killing is over: what takes as long as leases and time-outs do, and that nothing was done twice since. */
  readonly atLast?: Verify;
}

/** A point at which the service is killed. */
export interface Kill {
  readonly name: string;
  /** In the last round as many requests or runs stand at the point together; in all the others one. */
  readonly together: number;
  /** Set where the process is to park its runs. */
  readonly parkAfter?: string;
  /** Whether it is certain to be reached also where another live process looks for the same work. */
  readonly besideAnother: boolean;
  /** Once beside another live process, the leases of the dead one are left to lapse by themselves. */
  readonly leasesLapse?: boolean;
  /** Kills the service once and leaves it so; a check for each that stood there. With `turn` the executors alternate. */
  kill(victim: Victim, count: number, turn: number): Promise<readonly Check[]>;
}

export const lost = (what: string): Fault => ({ kind: 'lost', what });

/** Null where it happened as often as it should have. */
export function counted(what: string, times: number, expected: number): Fault | null {
  if (times === expected) return null;
  return {
    kind: times > expected ? 'doubled' : 'lost',
    what: `${what} ${times} times instead of ${expected}`,
  };
}
