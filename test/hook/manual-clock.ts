import type { Clock } from '../../src/clock.ts';

/** A clock that moves only when a test moves it. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #startMs: number;
  readonly #timers = new Set<{ readonly dueMs: number; readonly run: () => void }>();

  constructor(nowMs = Date.UTC(2026, 10, 30, 10, 0)) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs - this.#startMs;
  }

  setTimer(delayMs: number, run: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that neither ran nor were cancelled: none may be left of a dispatch that has ended. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  advance(byMs: number): void {
    this.#nowMs += byMs;
    for (const timer of [...this.#timers].sort((a, b) => a.dueMs - b.dueMs)) {
      if (timer.dueMs <= this.#nowMs && this.#timers.delete(timer)) timer.run();
    }
  }
}
