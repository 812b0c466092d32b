import type { Clock } from '../../src/clock.ts';

/** A clock that moves only when a test says so. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #timers = new Set<{ readonly dueAt: number; readonly run: () => void }>();

  constructor(now = Date.UTC(2026, 10, 30, 10, 20)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(delayMs: number, run: () => void): () => void {
    const timer = { dueAt: this.#monotonic + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves both clocks on and runs what has become due, in order. */
  advance(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
    const due = [...this.#timers].filter(({ dueAt }) => dueAt <= this.#monotonic);
    for (const timer of due.sort((left, right) => left.dueAt - right.dueAt)) {
      this.#timers.delete(timer);
      timer.run();
    }
  }

  /** Moves the wall clock alone, as an operator or a time server would. */
  step(ms: number): void {
    this.#now += ms;
  }

  /** Timers that have neither run nor been cancelled: what a stopped channel leaves must be zero. */
  get pendingTimers(): number {
    return this.#timers.size;
  }
}
