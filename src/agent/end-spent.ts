import { sleep } from '../clock.ts';
import type { CallScope, OpenCall, SettledCall } from './call-scope.ts';
import { type ExecutedOutcome, endBlocked, endExecuted } from './end-call.ts';
import type { InvokePorts } from './invoke-ports.ts';
import { BLOCK_MESSAGES } from './observation.ts';
import { throwIfSuspended } from './run-stop.ts';
import { NOT_SENT, SEND_WITHIN_MS } from './send-window.ts';

/** What a tool is given to notice that its time is over, and its worker to write the outcome down. */
const GRACE_MS = 1_500;

/**
 * A call that an earlier worker noted as being sent, or whose grant it claimed. Until that worker can neither send
 * nor be at it any more, its own word is waited for; after that the outcome is unknown. Never sent again.
 */
export async function endSpent(
  call: OpenCall,
  noted: { readonly executingAt: Date | null },
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  for (;;) {
    const { outcome, lastSendAt } = await readRecord(call, noted, ports);
    if (outcome?.error?.message === NOT_SENT) {
      const lapsed = { code: 'lapsed', message: BLOCK_MESSAGES.lapsed } as const;
      return endBlocked(call, { ...lapsed, reason: null, retryAfter: null }, scope, ports);
    }
    if (outcome !== null) return endExecuted(call, outcome, scope, ports);
    // By the clock that noted it: this process's own may be minutes off.
    const now = (await scope.log.heldAt()).getTime();
    const leftMs = lastSendAt + (call.tool?.timeoutMs ?? 0) + GRACE_MS - now;
    if (leftMs <= 0) {
      const error = { code: 'unknown', message: 'The service stopped while the tool was running.' };
      return endExecuted(call, { status: 'unknown', result: null, error }, scope, ports);
    }
    // Not cut short by a cancellation: what was sent was sent.
    await sleep(ports.clock, Math.min(leftMs, 1_000));
    throwIfSuspended(scope.signal);
  }
}

async function readRecord(
  call: OpenCall,
  noted: { readonly executingAt: Date | null },
  ports: InvokePorts,
): Promise<{ readonly outcome: ExecutedOutcome | null; readonly lastSendAt: number }> {
  const request = call.confirmation === null ? null : await ports.confirmations.get(call.confirmation);
  const notedUntil = noted.executingAt === null ? 0 : noted.executingAt.getTime() + SEND_WITHIN_MS;
  if (request?.status !== 'approved') return { outcome: null, lastSendAt: notedUntil };
  const { execution } = request;
  switch (execution.status) {
    case 'succeeded':
      return {
        outcome: { status: 'succeeded', result: execution.detail, error: null },
        lastSendAt: notedUntil,
      };
    case 'failed':
    case 'unknown':
      return {
        outcome: {
          status: execution.status,
          result: null,
          error: {
            code: execution.status === 'failed' ? 'tool_failed' : 'unknown',
            message: execution.detail ?? 'The service stopped while the tool was running.',
          },
        },
        lastSendAt: notedUntil,
      };
    case 'claimed':
      return { outcome: null, lastSendAt: execution.sendBy.getTime() };
    default:
      return { outcome: null, lastSendAt: notedUntil };
  }
}
