import { type Clock, sleep } from '../clock.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import type { ConfirmationId } from '../ids.ts';
import type { RunSignals } from './run-store.ts';
import type { RunWaits } from './run-waits.ts';

const POLL_MS = 5_000;

/**
 * Waits until a person says what became of an execution of unknown outcome. A call that no confirmation stands
 * behind cannot be settled: it is waited for until the run is cancelled. Rejects with the signal's reason.
 */
export function awaitSettlement(input: SettlementWait): Promise<Settlement> {
  const wait = { kind: 'settlement', confirmation: input.confirmation } as const;
  return input.waits.during(wait, () => settlementOf(input));
}

export interface SettlementWait {
  readonly confirmation: ConfirmationId | null;
  readonly confirmations: Pick<ConfirmationService, 'get'>;
  readonly signals: Pick<RunSignals, 'onConfirmation'>;
  readonly waits: RunWaits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Settlement {
  readonly status: 'succeeded' | 'failed';
  readonly detail: string | null;
}

async function settlementOf(input: SettlementWait): Promise<Settlement> {
  const { confirmation, signal } = input;
  for (;;) {
    signal.throwIfAborted();
    // Listens first and reads afterwards, so that nothing falls between.
    const changed = confirmation === null ? null : nextChange(confirmation, input);
    try {
      const request =
        confirmation === null ? null : await input.confirmations.get(confirmation).catch(() => null);
      if (request?.status === 'approved') {
        const { execution } = request;
        if (execution.status === 'succeeded' || execution.status === 'failed') {
          return { status: execution.status, detail: execution.detail };
        }
      }
      await (changed?.happened ?? never(signal));
    } finally {
      changed?.stop();
    }
  }
}

function nextChange(
  id: ConfirmationId,
  { signals, clock, signal }: Pick<SettlementWait, 'signals' | 'clock' | 'signal'>,
): { readonly happened: Promise<void>; stop(): void } {
  const over = new AbortController();
  let unsubscribe: () => void = () => {};
  const notified = new Promise<void>((resolve) => {
    unsubscribe = signals.onConfirmation((changed) => {
      if (changed === id) resolve();
    });
  });
  const polled = sleep(clock, POLL_MS, AbortSignal.any([signal, over.signal])).catch(() => {});
  return {
    happened: Promise.race([notified, polled]),
    stop() {
      unsubscribe();
      over.abort();
    },
  };
}

const never = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
