import { type Clock, sleep } from '../clock.ts';
import type { ClosedConfirmationRequest, ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { OwnReason } from '../confirmation/own-reason.ts';
import { UnreadableConfirmation } from '../confirmation/unreadable-confirmation.ts';
import type { ConfirmationId } from '../ids.ts';
import type { CallScope } from './call-scope.ts';
import { actorOfRun, type InvokePorts } from './invoke-ports.ts';
import { RunStop, throwIfSuspended } from './run-stop.ts';

const RETRY_AFTER_MS = 1_000;
/** A database that is away comes back, and people's decisions with it. */
const LONGEST_PAUSE_MS = 5_000;
/** A row that cannot be read has to be mended by somebody. */
const LONGEST_PAUSE_UNREADABLE_MS = 60_000;

/**
 * Waits for people's decision, however long; null where there is no such request. A request that cannot be read is
 * asked for again, ever less often, and is among the `unread` ones meanwhile: nothing may be concluded from it. The run
 * leaves its place while it pauses. Throws a `RunStop` where this process lets go of the run.
 */
export async function awaitDecision(
  id: ConfirmationId,
  scope: CallScope,
  { confirmations, unread, clock, logger }: InvokePorts,
): Promise<ClosedConfirmationRequest | null> {
  let faults = 0;
  let longestMs = RETRY_AFTER_MS;
  try {
    for (;;) {
      try {
        const request = await scope.waits.during({ kind: 'decision', confirmation: id }, scope.signal, () =>
          confirmations.wait({ id, timeoutMs: Number.POSITIVE_INFINITY, signal: scope.signal }),
        );
        throwIfSuspended(scope.signal);
        faults = 0;
        unread.delete(id);
        if (request === null) return null;
        // A cancelled run withdraws what is still open; the answer is then read like any other.
        if (scope.signal.aborted && isOpen(request)) {
          await confirmations.cancel({
            id,
            actor: actorOfRun(scope),
            reason: 'run_ended' satisfies OwnReason,
          });
          const closed = await confirmations.get(id);
          if (closed !== null && closed.status !== 'pending') return closed;
        }
        if (request.status !== 'pending') return request;
      } catch (error) {
        if (error instanceof RunStop) throw error;
        throwIfSuspended(scope.signal);
        unread.add(id);
        faults += 1;
        longestMs = error instanceof UnreadableConfirmation ? LONGEST_PAUSE_UNREADABLE_MS : LONGEST_PAUSE_MS;
        logger.warn(
          { err: error, confirmation: id, faults },
          'the confirmation cannot be read; asking again, ever less often',
        );
      }
      const pauseMs = Math.min(RETRY_AFTER_MS * 2 ** Math.max(0, faults - 1), longestMs);
      await scope.waits.beside(() => pause(clock, pauseMs, scope.signal));
      throwIfSuspended(scope.signal);
    }
  } finally {
    unread.delete(id);
  }
}

const isOpen = (request: ConfirmationRequest): boolean =>
  request.status === 'pending' || (request.status === 'approved' && request.execution.status === 'unclaimed');

/** Shorter where the run is stopped meanwhile; in full where it was before. */
const pause = (clock: Clock, pauseMs: number, signal: AbortSignal): Promise<void> =>
  signal.aborted ? sleep(clock, pauseMs) : sleep(clock, pauseMs, signal).catch(() => {});
