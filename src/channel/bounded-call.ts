import type { Clock } from '../clock.ts';

/**
 * Runs one call that may never answer (a platform, a database that is down). Whatever happens (an answer, a throw, the
 * time-out, the caller's abort), this resolves; the call itself is told through its signal to stop. An answer that
 * comes after the end is dropped.
 */
export async function boundedCall<Outcome>(input: {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the call early; none where nobody can. */
  readonly signal?: AbortSignal;
  readonly call: (signal: AbortSignal) => Promise<Outcome>;
}): Promise<BoundedAnswer<Outcome>> {
  const { clock, timeoutMs, signal, call } = input;
  const controller = new AbortController();
  let endEarly: (answer: BoundedAnswer<Outcome>) => void = () => {};
  const ended = new Promise<BoundedAnswer<Outcome>>((resolve) => {
    endEarly = resolve;
  });
  const giveUp = (why: 'timed-out' | 'aborted') => {
    endEarly({ kind: why });
    controller.abort(new Error(`The call was ended: ${why}.`));
  };
  const cancelTimer = clock.setTimer(timeoutMs, () => giveUp('timed-out'));
  const onAbort = () => giveUp('aborted');
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });

  // Inside an async function, so that a channel that throws at once ends here too.
  const answered = (async (): Promise<BoundedAnswer<Outcome>> => {
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
    signal?.removeEventListener('abort', onAbort);
  }
}

export type BoundedAnswer<Outcome> =
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'aborted' };
