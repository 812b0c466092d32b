import { setMaxListeners } from 'node:events';
import { type FailedEnd, gravestOf, type NodeEnd } from './node-end.ts';
import { isSuspended, RunStop } from './run-stop.ts';

/** One node of a plan, or one round of a loop. */
export interface Step {
  readonly id: string;
  /** Steps of the same pass that have to end before. */
  readonly after: readonly string[];
  /**
   * Ends it as the rows say, or takes it up, or begins it. Once the signal is aborted it begins nothing that is not on
   * record, and throws the signal's reason instead.
   */
  run(signal: AbortSignal): Promise<NodeEnd>;
}

/**
 * Runs steps side by side, each when those before it have ended, and each once. After the first that fails nothing else
 * begins: what still waits for people is withdrawn, what already runs comes to its end, also where it was begun by an
 * earlier worker.
 */
export class StepsPass {
  readonly #steps: readonly Step[];
  readonly #outer: AbortSignal;
  readonly #ends = new Map<string, NodeEnd>();
  readonly #started = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** Stops the other steps once one has failed, or met a fault. */
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #failures: FailedEnd[] = [];
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
      if (this.#fault === null) this.#startReady();
      if (this.#running.size === 0) break;
      await Promise.race(this.#running);
    }
    // A fault suspends the run as well, and says more than that.
    if (this.#outer.aborted && (this.#fault === null || !isSuspended(this.#outer))) throw this.#outer.reason;
    if (this.#fault !== null) throw this.#fault.error;
    return gravestOf(
      this.#failures,
      this.#steps.flatMap(({ id }) => this.#ends.get(id) ?? []),
    );
  }

  #startReady(): void {
    for (const step of this.#steps) {
      if (this.#started.has(step.id) || !step.after.every((other) => this.#wentWell(other))) continue;
      this.#started.add(step.id);
      const running = step
        .run(this.#signal)
        .then((end) => this.#ended(step.id, end))
        .catch((error: unknown) => {
          // A step that was only stopped: another one failed, or the run is cancelled, and those that are left withdraw theirs.
          if (error === this.#failed.signal.reason) return;
          if (this.#outer.aborted && error === this.#outer.reason && !isSuspended(this.#outer)) return;
          this.#fault ??= { error };
          // Nothing may wait behind it, for days if need be: the plan is taken up again from its rows.
          this.#failed.abort(new RunStop('suspended'));
        })
        .finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  #wentWell(id: string): boolean {
    const end = this.#ends.get(id);
    return end !== undefined && end.kind !== 'failed';
  }

  #ended(id: string, end: NodeEnd): void {
    this.#ends.set(id, end);
    if (end.kind !== 'failed') return;
    this.#failures.push(end);
    this.#failed.abort(new RunStop('cancelled'));
  }
}
