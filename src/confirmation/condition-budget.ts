import { ConditionFailure } from './condition-failure.ts';

/** About 40 ns each on the machines this was measured on: a condition ends within a few milliseconds. */
const STEPS_PER_EVALUATION = 100_000;

/**
 * Bounds one evaluation, whatever the arguments hold: everything whose cost grows with them is charged before it is
 * done. An expression may swallow the failure (`expensive || true`), so the caller also asks `exhausted` at the end.
 */
export class ConditionBudget {
  #left = STEPS_PER_EVALUATION;
  #spent: ConditionFailure | null = null;

  /** Negative once it is spent. */
  get left(): number {
    return this.#left;
  }

  get exhausted(): boolean {
    return this.#left < 0;
  }

  /** To be called before each evaluation. */
  reset(): void {
    this.#left = STEPS_PER_EVALUATION;
    this.#spent = null;
  }

  /** Throws a ConditionFailure once more was charged than an evaluation may cost; from then on each time. */
  charge(steps: number): void {
    if (this.#left >= 0) this.#left -= Math.ceil(steps);
    if (this.#left >= 0) return;
    // One for all: whoever swallows it meets it again and again, and to make one is dear.
    this.#spent ??= new ConditionFailure(TOO_COSTLY);
    throw this.#spent;
  }
}

export const TOO_COSTLY = 'is too large for the condition to look at';
