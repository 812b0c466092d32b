import type { JsonObject } from '../../json.ts';

/** What may go wrong with the next call of a method: one of these, or any `error` code of the Web API. */
export type SlackFault =
  | 'ratelimited'
  /** HTTP 429 that asks for so long. */
  | { readonly retryAfterSeconds: number }
  /** The method does its work, and the answer never comes. */
  | 'timeout-after-accept'
  /** HTTP 500, nothing done. */
  | '500'
  /** The method does its work, and HTTP 500 is what comes back. */
  | '500-after-accept'
  /** The connection breaks, nothing done. */
  | 'reset'
  /** The method does its work, then the connection breaks. */
  | 'reset-after-accept'
  /** HTTP 200 with this in the place of what the method would answer. */
  | { readonly answer: JsonObject }
  | (string & {});

/** Asked about each call for which nothing is lined up: what goes wrong with it, or null. `args` are what it says. */
export type FaultPlan = (method: string, args: Readonly<Record<string, unknown>>) => SlackFault | null;

/** Faults lined up by a test or a demo; each hits one call. */
export class FaultQueue {
  readonly #queued = new Map<string, SlackFault[]>();
  #plan: FaultPlan = () => null;

  /** The next call of `method` (then the one after it, and so on) meets this fault. */
  next(method: string, fault: SlackFault): void {
    this.#queued.set(method, [...(this.#queued.get(method) ?? []), fault]);
  }

  /** From now on; takes the place of the plan before. */
  follow(plan: FaultPlan): void {
    this.#plan = plan;
  }

  take(method: string, args: Readonly<Record<string, unknown>>): SlackFault | null {
    return this.#queued.get(method)?.shift() ?? this.#plan(method, args);
  }
}
