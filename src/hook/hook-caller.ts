import type { Clock } from '../clock.ts';
import type { HookFailureReason } from './hook-failure.ts';
import { describeThrown } from './hook-failure.ts';
import type { RegisteredHook } from './registered-hook.ts';

/** What one call of one hook came to; `answer` is not checked yet. */
export type HookCallOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'not-triggered' }
  | { readonly kind: 'failed'; readonly reason: HookFailureReason; readonly detail: string }
  | { readonly kind: 'cancelled' };

const NOT_TRIGGERED: HookCallOutcome = { kind: 'not-triggered' };
const CANCELLED: HookCallOutcome = { kind: 'cancelled' };
const NEVER_ABORTED = new AbortController().signal;
/** A microtask of its `then` costs half of what `queueMicrotask` does. */
const SETTLED = Promise.resolve();
const NO_DEADLINE = Number.POSITIVE_INFINITY;

/**
 * Calls the hooks of one dispatch, one at a time, each bounded by its time-out and by the run's cancellation. What a
 * hook answers, throws or rejects after that is dropped. One timer and one abort listener serve the whole dispatch:
 * made for each hook, they would cost more than the hooks. `close` has to be called at the end.
 */
export class HookCaller {
  readonly #clock: Clock;
  readonly #signal: AbortSignal | null;
  #open: OpenCall | null = null;
  #disarm: (() => void) | null = null;
  #firesAt = Number.POSITIVE_INFINITY;
  #abortListener: (() => void) | null = null;

  /** `signal` null: nothing cancels these calls. */
  constructor(input: { readonly clock: Clock; readonly signal: AbortSignal | null }) {
    this.#clock = input.clock;
    this.#signal = input.signal;
  }

  /** Never rejects. */
  call(hook: RegisteredHook, context: object): HookCallOutcome | Promise<HookCallOutcome> {
    if (this.#signal?.aborted) return CANCELLED;
    const controller = hook.takesSignal ? new AbortController() : null;
    const signal = controller?.signal ?? NEVER_ABORTED;
    return new Promise((resolve) => {
      const call: OpenCall = {
        timeoutMs: hook.timeoutMs,
        controller,
        resolve,
        deadline: NO_DEADLINE,
        closed: false,
      };
      try {
        const triggers = hook.shouldTrigger === null || hook.shouldTrigger(context);
        if (triggers === false) {
          resolve(NOT_TRIGGERED);
          return;
        }
        const answer =
          triggers === true
            ? hook.execute(context, signal)
            : this.#executeIf(triggers, call, () => hook.execute(context, signal));
        Promise.resolve(answer).then(
          (settled) => this.#finish(call, { kind: 'answered', answer: settled }),
          (thrown) => this.#finish(call, failed('threw', describeThrown(thrown))),
        );
        // Most hooks have answered by then, and need neither timer nor listener.
        SETTLED.then(() => this.#watch(call));
      } catch (thrown) {
        resolve(failed('threw', describeThrown(thrown)));
      }
    });
  }

  close(): void {
    this.#disarm?.();
    this.#disarm = null;
    if (this.#abortListener) this.#signal?.removeEventListener('abort', this.#abortListener);
  }

  /** The rare case: `shouldTrigger` answered with something other than a boolean, a promise as a rule. */
  async #executeIf(triggers: unknown, call: OpenCall, execute: () => unknown): Promise<unknown> {
    const settled = await triggers;
    if (settled === false) this.#finish(call, NOT_TRIGGERED);
    else if (settled !== true)
      this.#finish(call, failed('bad_result', 'shouldTrigger did not answer with a boolean'));
    // It may have taken so long that the call is over; then the work must not begin.
    return call.closed ? undefined : execute();
  }

  #finish(call: OpenCall, outcome: HookCallOutcome): void {
    if (call.closed) return;
    call.closed = true;
    this.#open = null;
    call.resolve(outcome);
  }

  #watch(call: OpenCall): void {
    if (call.closed) return;
    this.#open = call;
    call.deadline = this.#clock.monotonic() + call.timeoutMs;
    if (call.deadline < this.#firesAt) this.#arm(call, call.timeoutMs);
    if (this.#signal?.aborted) {
      // The hook itself, or whoever it woke, cancelled the run before anybody listened.
      this.#onAbort();
    } else if (this.#signal && !this.#abortListener) {
      this.#abortListener = this.#onAbort.bind(this);
      this.#signal.addEventListener('abort', this.#abortListener, { once: true });
    }
  }

  #arm(call: OpenCall, delayMs: number): void {
    this.#disarm?.();
    this.#firesAt = call.deadline;
    this.#disarm = this.#clock.setTimer(delayMs, () => this.#onTimer());
  }

  /** The timer may have been set for an earlier hook of the chain: then it is set again for the one that runs now. */
  #onTimer(): void {
    this.#firesAt = Number.POSITIVE_INFINITY;
    this.#disarm = null;
    const call = this.#open;
    if (!call) return;
    if (this.#clock.monotonic() < call.deadline) {
      this.#arm(call, call.deadline - this.#clock.monotonic());
    } else {
      const late = failed('timed_out', `no answer within ${call.timeoutMs} ms`);
      this.#interrupt(call, late, new DOMException('The hook took too long.', 'TimeoutError'));
    }
  }

  #onAbort(): void {
    if (this.#open) this.#interrupt(this.#open, CANCELLED, this.#signal?.reason);
  }

  #interrupt(call: OpenCall, outcome: HookCallOutcome, reason: unknown): void {
    this.#finish(call, outcome);
    call.controller?.abort(reason);
  }
}

interface OpenCall {
  readonly timeoutMs: number;
  readonly controller: AbortController | null;
  readonly resolve: (outcome: HookCallOutcome) => void;
  /** By the monotonic clock. It counts from when the hook first lets others work: before that nothing could end it. */
  deadline: number;
  closed: boolean;
}

const failed = (reason: HookFailureReason, detail: string): HookCallOutcome => ({
  kind: 'failed',
  reason,
  detail,
});
