/**
 * Time inside one process. Deadlines are decided by the database clock; this clock is for time-outs, back-off and
 * the check right before a tool is sent. Injected everywhere, so tests need no sleeping.
 */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never steps back; only differences mean anything. */
  monotonic(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels it. Does not keep the process alive. */
  setTimer(delayMs: number, run: () => void): () => void;
}

/** The longest delay one timer of the runtime can hold; longer ones fire at once, so they are cut here. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or rejects with the signal's reason when `signal` aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
