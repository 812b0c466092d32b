import type { Clock } from './clock.ts';

/**
 * Work that is looked for when somebody says that there may be some: one round at a time. Whatever calls during a
 * round, or sooner than `restMs` after the last one began, causes one round together, so that a thousand calls a
 * second are a few looks; the first call after a rest is answered at once.
 */
export class Rounds {
  readonly #input: {
    readonly clock: Clock;
    readonly restMs: () => number;
    readonly round: () => Promise<void>;
  };
  #working: Promise<void> | null = null;
  #wanted = false;
  #stopped = false;
  #begunAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | null = null;

  /** `round` deals with its own faults: it never rejects. `restMs` may change from one round to the next. */
  constructor(input: {
    readonly clock: Clock;
    readonly restMs: number | (() => number);
    readonly round: () => Promise<void>;
  }) {
    const { restMs } = input;
    this.#input = { ...input, restMs: typeof restMs === 'number' ? () => restMs : restMs };
  }

  /** Something may be to do. */
  call(): void {
    this.#wanted = true;
    this.#begin();
  }

  /** The same without a rest, for who knows that a round was too small for what there was. */
  callNow(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#begunAt = Number.NEGATIVE_INFINITY;
    this.call();
  }

  /** Ends the calls; resolves when the round in work is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#working;
  }

  #begin(): void {
    if (this.#stopped || !this.#wanted || this.#working !== null || this.#cancelTimer !== null) return;
    const { clock, round } = this.#input;
    const restMs = this.#input.restMs();
    const restedMs = clock.monotonic() - this.#begunAt;
    if (restedMs < restMs) {
      this.#cancelTimer = clock.setTimer(restMs - restedMs, () => {
        this.#cancelTimer = null;
        this.#begin();
      });
      return;
    }
    this.#wanted = false;
    this.#begunAt = clock.monotonic();
    this.#working = round().finally(() => {
      this.#working = null;
      this.#begin();
    });
  }
}
