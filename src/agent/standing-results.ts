import { canonicalize } from 'json-canonicalize';
import type { JsonObject } from '../json.ts';
import type { NodeEnd } from './node-end.ts';
import type { PlanScope } from './plan-scope.ts';

interface MadeCall {
  readonly node: string;
  /** As the plan gave them, before any hook. */
  readonly args: JsonObject;
}

interface StandingResult {
  readonly round: string;
  readonly end: NodeEnd;
  /** The later rounds in which it stands for a call. */
  readonly standsIn: Set<string>;
}

/**
 * What took effect in earlier rounds of a loop that repeats, so that nothing is done twice because something beside it
 * was refused. A call is told by its node and its arguments, and not by its place in a list: a list that comes back
 * without the element that was rejected has its others elsewhere. Each result stands for one call a round, since a list
 * may ask for the same twice.
 */
export class StandingResults {
  readonly #results = new Map<string, StandingResult[]>();

  /** A call that succeeded in this round, whenever that was. */
  add({ repeated }: PlanScope, call: MadeCall, end: NodeEnd): void {
    if (repeated === null) return;
    const key = keyOf(repeated.loop, call);
    const result = { round: repeated.round, end, standsIn: new Set<string>() };
    this.#results.set(key, [...(this.#results.get(key) ?? []), result]);
  }

  /** What stands for this call from an earlier round, from now on in this round; null where it has to be made. */
  take({ repeated }: PlanScope, call: MadeCall): NodeEnd | null {
    if (repeated === null) return null;
    const { loop, round } = repeated;
    const free = this.#results
      .get(keyOf(loop, call))
      ?.find((result) => result.round !== round && !result.standsIn.has(round));
    free?.standsIn.add(round);
    return free?.end ?? null;
  }
}

const keyOf = (loop: string, { node, args }: MadeCall): string => canonicalize([loop, node, args]);
