import { type Clock, sleep } from '../clock.ts';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { Actor, ConfirmationService } from '../confirmation/confirmation-service.ts';
import type { OwnReason } from '../confirmation/own-reason.ts';
import type { ConfirmationId } from '../ids.ts';
import { isSuspended } from './run-stop.ts';
import type { RunSignals } from './run-store.ts';
import type { RunWaits } from './run-waits.ts';

const POLL_MS = 5_000;

export interface SettlementWait {
  /** The request of the call, as its run knows it. */
  readonly confirmation: ConfirmationId | null;
  readonly confirmations: Pick<ConfirmationService, 'get' | 'cancel'>;
  readonly signals: Pick<RunSignals, 'onConfirmation'>;
  readonly waits: RunWaits;
  readonly unread: Set<ConfirmationId>;
  /** The run that waits. */
  readonly actor: Actor;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Settlement {
  readonly status: 'succeeded' | 'failed';
  readonly detail: string | null;
}

/**
 * Waits until somebody knows what became of an execution of unknown outcome: a person says so, or asks to run it again
 * and that attempt has ended. A call that no confirmation stands behind cannot be settled: it is waited for until the
 * run is cancelled. Rejects with the signal's reason; what people were asked about it meanwhile is withdrawn then.
 */
export async function awaitSettlement(input: SettlementWait): Promise<Settlement> {
  const { confirmation, unread } = input;
  let inHandsOf = confirmation;
  try {
    for (;;) {
      const wait = { kind: 'settlement', confirmation: inHandsOf } as const;
      const news = await input.waits.during(wait, input.signal, () => newsOf(inHandsOf, input));
      if (news.kind === 'settled') return news.settlement;
      inHandsOf = news.to;
    }
  } finally {
    if (confirmation !== null) unread.delete(confirmation);
  }
}

type News =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  /** To the request that runs the call again, or back from one that came to nothing. */
  | { readonly kind: 'handed-on'; readonly to: ConfirmationId };

async function newsOf(inHandsOf: ConfirmationId | null, input: SettlementWait): Promise<News> {
  const { signal } = input;
  for (;;) {
    // Listens first and reads afterwards, so that nothing falls between.
    const changes = watchChanges(input);
    try {
      const latest = await readLatest(input, changes.ids);
      const settlement = latest && settlementIn(latest);
      if (settlement) return { kind: 'settled', settlement };
      if (signal.aborted) {
        if (latest !== null && latest.id !== input.confirmation) await withdraw(latest, input);
        throw signal.reason;
      }
      if (latest !== null && latest.id !== inHandsOf) return { kind: 'handed-on', to: latest.id };
      await changes.happened;
    } finally {
      changes.stop();
    }
  }
}

/** The same, and null too where it cannot be read: it is looked at again, and counted meanwhile. */
async function readLatest(
  input: SettlementWait,
  seen: Set<ConfirmationId>,
): Promise<ConfirmationRequest | null> {
  try {
    const latest = await latestOf(input, seen);
    if (input.confirmation !== null) input.unread.delete(input.confirmation);
    return latest;
  } catch {
    if (input.confirmation !== null) input.unread.add(input.confirmation);
    return null;
  }
}

/** The request in whose hands the outcome is now: of those that run the call again, the newest that may still run it. */
async function latestOf(
  { confirmation, confirmations }: Pick<SettlementWait, 'confirmation' | 'confirmations'>,
  seen: Set<ConfirmationId>,
): Promise<ConfirmationRequest | null> {
  let latest: ConfirmationRequest | null = null;
  for (let next = confirmation; next !== null; next = latest?.supersededBy ?? null) {
    seen.add(next);
    latest = await confirmations.get(next);
  }
  return latest;
}

function settlementIn(request: ConfirmationRequest): Settlement | null {
  if (request.status !== 'approved') return null;
  const { execution } = request;
  if (execution.status !== 'succeeded' && execution.status !== 'failed') return null;
  // An attempt to run it again that failed gives the outcome back, and is read a moment before that is seen.
  if (execution.status === 'failed' && request.supersedes !== null && execution.source !== 'settlement')
    return null;
  return { status: execution.status, detail: execution.detail };
}

/** Nobody shall decide about running a call again for a run that ended early. */
async function withdraw(
  { id }: ConfirmationRequest,
  { confirmations, actor, signal }: Pick<SettlementWait, 'confirmations' | 'actor' | 'signal'>,
): Promise<void> {
  if (isSuspended(signal)) return;
  await confirmations.cancel({ id, actor, reason: 'run_ended' satisfies OwnReason }).catch(() => {});
}

/** `ids` are looked at when something changes, so they may be added to while one reads. */
function watchChanges({ signals, clock, signal }: Pick<SettlementWait, 'signals' | 'clock' | 'signal'>): {
  readonly ids: Set<ConfirmationId>;
  readonly happened: Promise<void>;
  stop(): void;
} {
  const ids = new Set<ConfirmationId>();
  const over = new AbortController();
  let unsubscribe: () => void = () => {};
  const notified = new Promise<void>((resolve) => {
    unsubscribe = signals.onConfirmation((changed) => {
      if (ids.has(changed)) resolve();
    });
  });
  const polled = sleep(clock, POLL_MS, AbortSignal.any([signal, over.signal])).catch(() => {});
  return {
    ids,
    happened: Promise.race([notified, polled]),
    stop() {
      unsubscribe();
      over.abort();
    },
  };
}
