import { EvaluationError } from '@marcbachmann/cel-js';

/**
 * Why a condition has no value, thrown by our own functions, operators and facts. `reason` goes on where a sentence
 * about the argument at fault has begun (`is missing`) and holds no value of it: the sentence is stored and shown
 * where arguments are masked.
 */
export class ConditionFailure extends EvaluationError {
  readonly reason: string;
  /** Which parameter of the failing call is at fault, counted from 0. */
  readonly parameter: number | null;
  /** The argument at fault, where whoever threw knows it (`items[2].memo`). */
  readonly argument: string | null;

  constructor(reason: string, at: { readonly parameter?: number; readonly argument?: string | null } = {}) {
    super({ code: 'condition_failure', message: reason });
    this.reason = reason;
    this.parameter = at.parameter ?? null;
    this.argument = at.argument ?? null;
  }
}
