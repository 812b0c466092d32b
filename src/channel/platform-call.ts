import type { Clock } from '../clock.ts';

/**
 * Runs one call to a platform that may never answer. Whatever happens (an answer, a throw, the time-out, the
 * caller's abort), this resolves; the call itself is told through its signal to stop. An answer that comes after the
 * end is dropped.
 */
export async function platformCall<Outcome>(input: {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly call: (signal: AbortSignal) => Promise<Outcome>;
}): Promise<PlatformAnswer<Outcome>> {
  const { clock, timeoutMs, signal, call } = input;
  const controller = new AbortController();
  let endEarly: (answer: PlatformAnswer<Outcome>) => void = () => {};
  const ended = new Promise<PlatformAnswer<Outcome>>((resolve) => {
    endEarly = resolve;
  });
  const giveUp = (why: 'timed-out' | 'aborted') => {
    endEarly({ kind: why });
    controller.abort(new Error(`The call to the platform was ${why}.`));
  };
  const cancelTimer = clock.setTimer(timeoutMs, () => giveUp('timed-out'));
  const onAbort = () => giveUp('aborted');
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });

  // Inside an async function, so that a channel that throws at once ends here too.
  const answered = (async (): Promise<PlatformAnswer<Outcome>> => {
    try {
      return { kind: 'answered', outcome: await call(controller.signal) };
    } catch (error) {
      return { kind: 'threw', error };
    }
  })();
  try {
    return await Promise.race([ended, answered]);
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

export type PlatformAnswer<Outcome> =
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'aborted' };
