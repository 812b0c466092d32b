import { setMaxListeners } from 'node:events';
import { type FailedEnd, isWithdrawn, type NodeEnd } from './node-end.ts';
import { isSuspended, RunStop } from './run-stop.ts';

/** What an earlier worker left of a step. Of a loop, and of one of its rounds, nobody knows that it has ended. */
export type StepRecord = 'nothing' | 'begun' | 'ended';

/** One node of a plan, or one round of a loop. */
export interface Step {
  readonly id: string;
  /** Steps of the same pass that have to end before. */
  readonly after: readonly string[];
  /** What the rows say of it. */
  readonly onRecord: StepRecord;
  run(signal: AbortSignal): Promise<NodeEnd>;
}

/**
 * Runs steps side by side, each when those before it have ended. After the first that fails nothing else begins: what
 * still waits for people is withdrawn, what already runs comes to its end, also where it was begun by an earlier worker.
 */
export class StepsPass {
  readonly #steps: readonly Step[];
  readonly #outer: AbortSignal;
  readonly #ends = new Map<string, NodeEnd>();
  readonly #running = new Map<string, Promise<void>>();
  /** Stops the other steps once one has failed, or met a fault. */
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  #failure: FailedEnd | null = null;
  #fault: { readonly error: unknown } | null = null;

  constructor(steps: readonly Step[], outer: AbortSignal) {
    this.#steps = steps;
    this.#outer = outer;
    this.#signal = AbortSignal.any([outer, this.#failed.signal]);
    // Each step that waits listens.
    setMaxListeners(0, this.#signal, this.#failed.signal);
  }

  endOf(id: string): NodeEnd | undefined {
    return this.#ends.get(id);
  }

  /** Resolves with what failed, or null, once nothing runs any more. Throws the outer signal's reason, or a fault. */
  async finish(): Promise<FailedEnd | null> {
    for (;;) {
      this.#startReady();
      if (this.#running.size === 0) break;
      await Promise.race(this.#running.values());
    }
    // A fault suspends the run as well, and says more than that.
    if (this.#outer.aborted && (this.#fault === null || !isSuspended(this.#outer))) throw this.#outer.reason;
    if (this.#fault !== null) throw this.#fault.error;
    return this.#failure;
  }

  #startReady(): void {
    if (this.#fault !== null) return;
    const ready = this.#steps.filter(
      ({ id, after }) =>
        !this.#ends.has(id) && !this.#running.has(id) && after.every((other) => this.#ends.has(other)),
    );
    // What the rows say is heard out before anything new begins.
    const isEnded = ({ onRecord }: Step) => onRecord === 'ended';
    if (ready.some(isEnded)) this.#start(ready.filter(isEnded));
    if (this.#steps.some((step) => isEnded(step) && this.#running.has(step.id))) return;
    const beginsNothing = this.#failure !== null || this.#outer.aborted;
    this.#start(beginsNothing ? ready.filter(({ onRecord }) => onRecord === 'begun') : ready);
  }

  #start(steps: readonly Step[]): void {
    for (const step of steps) {
      const running = step
        .run(this.#signal)
        .then((end) => this.#ended(step.id, end))
        .catch((error: unknown) => {
          // A step that was only stopped because another one failed.
          if (error === this.#failed.signal.reason) return;
          this.#fault ??= { error };
          // Nothing may wait behind it, for days if need be: the plan is taken up again from its rows.
          this.#failed.abort(new RunStop('suspended'));
        })
        .finally(() => this.#running.delete(step.id));
      this.#running.set(step.id, running);
    }
  }

  #ended(id: string, end: NodeEnd): void {
    this.#ends.set(id, end);
    if (end.kind !== 'failed' || (this.#failure !== null && !isWithdrawn(this.#failure))) return;
    this.#failure = end;
    this.#failed.abort(new RunStop('cancelled'));
  }
}
