import type { Clock } from '../clock.ts';

/**
 * A signal for one call to a platform: aborted by whichever comes first, `timeoutMs` or one of `signals`. It bounds the
 * whole call; a library's own time-out may begin anew with every byte. `clear` has to be called once the call has ended.
 */
export function callDeadline(input: {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signals: readonly AbortSignal[];
}): { readonly signal: AbortSignal; readonly clear: () => void } {
  const overdue = new AbortController();
  const clear = input.clock.setTimer(input.timeoutMs, () => overdue.abort(new Error('timed out')));
  return { signal: AbortSignal.any([...input.signals, overdue.signal]), clear };
}
