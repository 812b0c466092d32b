import type { Clock } from '../clock.ts';

/** Without a byte for so long, an answer has stopped. A comment that keeps the line open is a byte. */
export const LONGEST_SILENCE_MS = 120_000;
/** For the whole answer, however steadily it comes: one that drips would hold its run for ever. */
export const LONGEST_ANSWER_MS = 600_000;
/** Behind the end of the words comes only what they cost, if that: not every server closes its stream. */
export const LONGEST_REMAINDER_MS = 5_000;

/** The time that one attempt to get an answer has, and the signal that ends it. */
export class AnswerPatience {
  readonly #clock: Clock;
  readonly #caller: AbortSignal;
  /** The client never takes its listener off a signal again: each attempt has one of its own. */
  readonly #over = new AbortController();
  readonly #cancelWhole: () => void;
  readonly #followCaller: () => void;
  #cancelSilence = () => {};
  #silenceMs = LONGEST_SILENCE_MS;

  /** Runs from now on. */
  constructor(clock: Clock, caller: AbortSignal) {
    this.#clock = clock;
    this.#caller = caller;
    this.#followCaller = () => this.#over.abort(caller.reason);
    caller.addEventListener('abort', this.#followCaller, { once: true });
    if (caller.aborted) this.#followCaller();
    this.#cancelWhole = clock.setTimer(LONGEST_ANSWER_MS, () => this.#runOut());
    this.heard();
  }

  /** Aborts when the time is over, and when the caller's does. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get isRunOut(): boolean {
    return this.signal.reason === TIME_IS_OVER;
  }

  /** Something came: the silence begins anew. */
  heard(): void {
    this.#cancelSilence();
    if (!this.signal.aborted) {
      this.#cancelSilence = this.#clock.setTimer(this.#silenceMs, () => this.#runOut());
    }
  }

  /** The answer is whole; what follows it is not waited for as long. */
  shorten(): void {
    if (this.#silenceMs === LONGEST_REMAINDER_MS) return;
    this.#silenceMs = LONGEST_REMAINDER_MS;
    this.heard();
  }

  /** The attempt is over; nothing of it is left, no timer and no listener. */
  end(): void {
    this.#cancelSilence();
    this.#cancelWhole();
    this.#caller.removeEventListener('abort', this.#followCaller);
  }

  #runOut(): void {
    this.#over.abort(TIME_IS_OVER);
  }
}

const TIME_IS_OVER = new Error('the model did not answer in time');
