import type { Clock } from '../clock.ts';
import type { ConfirmationId, RunId } from '../ids.ts';
import { RunStop } from './run-stop.ts';
import type { WorkPlace } from './work-places.ts';

/** What an open call of a run can wait for without anything to do meanwhile. */
export type RunWait =
  | { readonly kind: 'decision'; readonly confirmation: ConfirmationId }
  | { readonly kind: 'cool-off'; readonly confirmation: ConfirmationId }
  /** Null: no confirmation stands behind the call; only cancelling the run ends the wait. */
  | { readonly kind: 'settlement'; readonly confirmation: ConfirmationId | null }
  | { readonly kind: 'delegate'; readonly run: RunId };

/**
 * The waits of one run in this process. Once everything that is open has only waited for `parkAfterMs`, the run is
 * parked: its rows let go of this worker first, then every wait here is given up. From the moment it is tried, no
 * wait that ends lets its call go on before the answer is known, so nothing is claimed for a run that is parked; and
 * none does before there is a place for the run to be at work again.
 */
export class RunWaits {
  readonly #parkAfterMs: number;
  readonly #clock: Clock;
  readonly #park: (waits: readonly RunWait[]) => Promise<boolean>;
  readonly #onParked: () => void;
  readonly #place: Pick<WorkPlace, 'enter' | 'leave'>;
  #entering: Promise<void> = Promise.resolve();
  readonly #waits = new Set<RunWait>();
  #open = 0;
  #beside = 0;
  #atWork = true;
  #cancelTimer: (() => void) | null = null;
  #parking: Promise<void> | null = null;
  #parked = false;

  constructor(input: {
    readonly parkAfterMs: number;
    readonly clock: Clock;
    /** Parks the run where nothing of this has ended meanwhile; false: it stays. Never throws. */
    readonly park: (waits: readonly RunWait[]) => Promise<boolean>;
    /** Gives up every wait. */
    readonly onParked: () => void;
    /** Left while everything that is open only waits. */
    readonly place: Pick<WorkPlace, 'enter' | 'leave'>;
  }) {
    this.#parkAfterMs = input.parkAfterMs;
    this.#clock = input.clock;
    this.#park = input.park;
    this.#onParked = input.onParked;
    this.#place = input.place;
  }

  /** One call or node, from its beginning to its end: while it does not wait, the run is not parked. */
  async whileOpen<T>(work: () => Promise<T>): Promise<T> {
    this.#open += 1;
    this.#look();
    try {
      return await work();
    } finally {
      this.#open -= 1;
      this.#look();
    }
  }

  /**
   * One wait of an open call, until its signal aborts: from then on it has something to do, and to park the run would
   * leave that undone until something else wakes it. Throws a `RunStop` where the run has been parked.
   */
  async during<T>(wait: RunWait, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const over = () => {
      this.#waits.delete(wait);
      this.#look();
    };
    if (!signal.aborted) this.#waits.add(wait);
    signal.addEventListener('abort', over, { once: true });
    this.#look();
    try {
      return await work();
    } finally {
      signal.removeEventListener('abort', over);
      over();
      await this.#parking;
      this.#throwIfParked();
      await this.#entering;
    }
  }

  /** One wait of an open call for what another run does: nothing to do meanwhile, and not to be parked with. */
  async beside<T>(work: () => Promise<T>): Promise<T> {
    this.#beside += 1;
    this.#look();
    try {
      return await work();
    } finally {
      this.#beside -= 1;
      this.#look();
      await this.#entering;
    }
  }

  #throwIfParked(): void {
    if (this.#parked) throw new RunStop('parked');
  }

  #look(): void {
    const atWork = this.#open === 0 || this.#waits.size + this.#beside < this.#open;
    if (atWork !== this.#atWork) {
      this.#atWork = atWork;
      if (atWork) this.#entering = this.#place.enter();
      else this.#place.leave();
    }
    const onlyWaits = this.#open > 0 && this.#waits.size === this.#open && !this.#parked;
    if (!onlyWaits) {
      this.#cancelTimer?.();
      this.#cancelTimer = null;
    } else if (this.#cancelTimer === null && this.#parking === null) {
      this.#cancelTimer = this.#clock.setTimer(this.#parkAfterMs, () => {
        this.#cancelTimer = null;
        this.#parking = this.#tryToPark();
      });
    }
  }

  async #tryToPark(): Promise<void> {
    this.#parked = await this.#park([...this.#waits]);
    this.#parking = null;
    if (this.#parked) this.#onParked();
    else this.#look();
  }
}
