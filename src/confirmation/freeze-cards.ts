import type { Clock } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';

/** Where it is written down which freezes began or ended and whose cards do not say so yet. */
export interface FreezeCardPort {
  /** Takes one of them for a while, so that no other process does the same; null where there is none. */
  takeDue(): Promise<DueFreeze | null>;
  /**
   * Asks for new cards of the open requests that the globs match, a batch after `after` in the order of ids. The
   * last id of the batch where there may be more; null where that was the last.
   */
  refreshBatch(input: {
    readonly tools: readonly string[];
    readonly after: ConfirmationId | null;
  }): Promise<ConfirmationId | null>;
  done(due: DueFreeze): Promise<void>;
}

export interface DueFreeze {
  readonly id: string;
  readonly tools: readonly string[];
  readonly lease: Date;
}

const LOOK_EVERY_MS = 500;

/**
 * Brings the cards of open requests to what freezes have made of them, when one begins and when it ends. Any number
 * of replicas may look at once. What fails is tried again once its lease is over: the cards lag, the freeze does not.
 */
export class FreezeCards {
  readonly #port: FreezeCardPort;
  readonly #clock: Clock;
  readonly #onFailed: (error: unknown) => void;
  #cancelTimer: (() => void) | null = null;
  #working: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(input: {
    readonly port: FreezeCardPort;
    readonly clock: Clock;
    readonly onFailed: (error: unknown) => void;
  }) {
    this.#port = input.port;
    this.#clock = input.clock;
    this.#onFailed = input.onFailed;
  }

  start(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#clock.setTimer(LOOK_EVERY_MS, () => {
      this.#working = this.refresh()
        .catch(this.#onFailed)
        .then(() => this.start());
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#working;
  }

  /** Does everything that is due now; returns for how many freezes. */
  async refresh(): Promise<number> {
    let count = 0;
    for (let due = await this.#port.takeDue(); due !== null; due = await this.#port.takeDue()) {
      let after: ConfirmationId | null = null;
      do {
        after = await this.#port.refreshBatch({ tools: due.tools, after });
      } while (after !== null && !this.#stopped);
      if (after === null) await this.#port.done(due);
      count += 1;
    }
    return count;
  }
}
