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
  #isWhole = false;
  #isEnded = false;

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
    if (!this.#isWhole) this.#waitFor(LONGEST_SILENCE_MS);
  }

  /** The answer is whole, and a chunk came: what follows is not waited for as long, and comments prolong it no more. */
  heardTheEnd(): void {
    this.#isWhole = true;
    this.#waitFor(LONGEST_REMAINDER_MS);
  }

  /** The attempt is over; nothing of it is left, no timer and no listener, whatever may still come. */
  end(): void {
    this.#isEnded = true;
    this.#cancelSilence();
    this.#cancelWhole();
    this.#caller.removeEventListener('abort', this.#followCaller);
  }

  #waitFor(silenceMs: number): void {
    this.#cancelSilence();
    if (this.#isEnded || this.signal.aborted) return;
    this.#cancelSilence = this.#clock.setTimer(silenceMs, () => this.#runOut());
  }

  #runOut(): void {
    this.#over.abort(TIME_IS_OVER);
  }
}

const TIME_IS_OVER = new Error('the model did not answer in time');
