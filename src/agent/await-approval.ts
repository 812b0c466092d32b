import { sleep } from '../clock.ts';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { OwnReason } from '../confirmation/own-reason.ts';
import type { ConfirmationId } from '../ids.ts';
import { awaitDecision } from './await-decision.ts';
import type { CallScope, OpenCall } from './call-scope.ts';
import { type ClaimAttempt, newAttempt } from './claim-attempt.ts';
import { actorOfRun, type InvokePorts } from './invoke-ports.ts';
import { BLOCK_MESSAGES, type BlockedCall } from './observation.ts';
import { RunStop, throwIfSuspended } from './run-stop.ts';
import { NOT_SENT, sendWindowMs } from './send-window.ts';
import type { Tool } from './tool.ts';
import { awaitTool, NOT_LISTED } from './tool-reach.ts';

/** What people's decision, and then the claim, made of a call. */
export type Approval =
  /** The grant is ours: send before `sendBeforeMs` on the monotonic clock, or never. */
  | { readonly kind: 'claimed'; readonly tool: Tool; readonly sendBeforeMs: number }
  | { readonly kind: 'blocked'; readonly blocked: BlockedCall }
  /** An earlier worker of this run used the grant up; it may have sent the call. */
  | { readonly kind: 'spent' };

const RETRY_AFTER_MS = 1_000;
/** How often a claim may break; with the pauses between, a few seconds. */
const MOST_FAULTS = 5;
/** The last part of a cool-off is waited for in steps of this, not shorter. */
const SHORTEST_STEP_MS = 50;

/**
 * Waits for people, however long, and claims the grant for exactly these arguments. A database that cannot be read
 * is asked again, since a card may be open; the wait itself never times out. Throws only when the process stops.
 */
export async function awaitApproval(
  call: OpenCall,
  confirmation: ConfirmationId,
  scope: CallScope,
  ports: InvokePorts,
): Promise<Approval> {
  const request = await awaitDecision(confirmation, scope, ports);
  if (request === null) return blocked('gate_unavailable', null);
  await scope.log.decided({
    id: call.id,
    confirmation,
    status: request.status,
    reason: request.decision.reason,
    coolingOff:
      request.status === 'approved' &&
      request.execution.status === 'unclaimed' &&
      request.execution.coolingOff,
  });
  if (request.status !== 'approved') {
    const code = request.decision.code === 'approved' ? 'gate_unavailable' : request.decision.code;
    return blocked(code, request.decision.reason);
  }
  switch (request.execution.status) {
    case 'unclaimed':
      return claimGrant(call, confirmation, scope, ports);
    case 'lapsed':
    case 'revoked':
      return unusable(request);
    default:
      return { kind: 'spent' };
  }
}

async function claimGrant(
  call: OpenCall,
  id: ConfirmationId,
  scope: CallScope,
  { confirmations, clock, logger }: InvokePorts,
): Promise<Approval> {
  let attempt: ClaimAttempt | null = null;
  for (let faults = 0; ; ) {
    if (attempt === null) {
      // A grant is not used up on a server that is away for a moment, as most are when everything has just been started.
      await awaitTool(call.toolName, scope);
      if (scope.signal.aborted) return withdrawCancelled(id, scope, { confirmations });
      if (scope.reach.isUnlisted(call.toolName)) return withdrawUnlisted(id, scope, { confirmations });
      attempt = newAttempt(clock);
    }
    let outcome: Awaited<ReturnType<typeof confirmations.claim>>;
    try {
      outcome = await confirmations.claim({
        ...{ id, actor: actorOfRun(scope), args: call.args },
        claimant: attempt.claimant,
      });
    } catch (error) {
      faults += 1;
      logger.warn({ err: error, confirmation: id, faults }, 'the grant cannot be claimed');
      if (faults === MOST_FAULTS) return giveBack(id, scope, { confirmations, logger });
      await sleep(clock, 100 * 2 ** faults);
      continue;
    }
    if (outcome.kind === 'not-found') return blocked('gate_unavailable', null);
    if (outcome.kind === 'claimed') {
      const tool = scope.tools().get(call.toolName);
      if (tool === undefined) return giveBack(id, scope, { confirmations, logger });
      return {
        tool,
        kind: 'claimed',
        sendBeforeMs: attempt.sinceMs + sendWindowMs(outcome.request, outcome.sendBy),
      };
    }
    switch (outcome.code) {
      case 'lapsed':
      case 'revoked':
        return unusable(outcome.request);
      case 'already_claimed':
        return { kind: 'spent' };
      case 'not_yet_executable':
        await coolOff(id, outcome.retryAfterMs ?? 0, scope, { confirmations, clock, logger });
        attempt = null;
        break;
      default:
        logger.error(
          { confirmation: id, code: outcome.code },
          'the grant was refused; the call does not run',
        );
        return blocked('gate_unavailable', null);
    }
  }
}

/** The run was cancelled after the approval and before the claim: nothing is used up. */
async function withdrawCancelled(
  id: ConfirmationId,
  scope: CallScope,
  { confirmations }: Pick<InvokePorts, 'confirmations'>,
): Promise<Approval> {
  throwIfSuspended(scope.signal);
  await confirmations.cancel({ id, actor: actorOfRun(scope), reason: 'run_ended' satisfies OwnReason });
  return blocked('cancelled', null);
}

/** Nothing can be claimed for a tool of which nobody knows whether it is what was approved. */
async function withdrawUnlisted(
  id: ConfirmationId,
  scope: CallScope,
  { confirmations }: Pick<InvokePorts, 'confirmations'>,
): Promise<Approval> {
  await confirmations.cancel({ id, actor: actorOfRun(scope), reason: 'tool_unlisted' satisfies OwnReason });
  return blocked('gate_unavailable', null, NOT_LISTED);
}

/**
 * The claim may have been committed: then the grant is used up and nothing was sent. Said only while the run is held
 * here, since the claim may be another worker's, and in use. Throws `LeaseLost` otherwise.
 */
async function giveBack(
  id: ConfirmationId,
  scope: CallScope,
  { confirmations, logger }: Pick<InvokePorts, 'confirmations' | 'logger'>,
): Promise<Approval> {
  await scope.log.heldAt();
  await confirmations
    .recordOutcome({ id, actor: actorOfRun(scope), status: 'failed', detail: NOT_SENT })
    .catch((error: unknown) =>
      logger.error({ err: error, confirmation: id }, 'that the call was not sent cannot be recorded'),
    );
  return blocked('gate_unavailable', null);
}

/**
 * Lets the cool-off pass, or less where the grant ends before: the waiter is told of a revocation. Whatever it finds,
 * the claim is tried again, and the database says how it stands. A cancelled run withdraws its grant.
 */
async function coolOff(
  id: ConfirmationId,
  opensInMs: number,
  scope: CallScope,
  { confirmations, clock, logger }: Pick<InvokePorts, 'confirmations' | 'clock' | 'logger'>,
): Promise<void> {
  try {
    if (!scope.signal.aborted) {
      const timeoutMs = Math.max(opensInMs, SHORTEST_STEP_MS);
      await scope.waits.during({ kind: 'cool-off', confirmation: id }, scope.signal, () =>
        confirmations.wait({ id, timeoutMs, signal: scope.signal, until: 'grant-moved' }),
      );
    }
    throwIfSuspended(scope.signal);
    if (scope.signal.aborted) {
      await confirmations.cancel({ id, actor: actorOfRun(scope), reason: 'run_ended' satisfies OwnReason });
    }
  } catch (error) {
    if (error instanceof RunStop) throw error;
    throwIfSuspended(scope.signal);
    logger.warn({ err: error, confirmation: id }, 'the cool-off cannot be waited for; asking again');
    await sleep(clock, RETRY_AFTER_MS);
  }
}

/** Approved, and still nothing that may run: the grant ran out, or somebody or something took it back. */
function unusable(request: ConfirmationRequest): Approval {
  const execution = request.status === 'approved' ? request.execution : null;
  if (execution?.status !== 'revoked') return blocked('lapsed', null);
  return blocked('revoked', execution.reason);
}

const blocked = (
  code: keyof typeof BLOCK_MESSAGES | BlockedCall['code'],
  reason: string | null,
  message?: string,
): Approval => ({
  kind: 'blocked',
  blocked: {
    code,
    message:
      message ?? (BLOCK_MESSAGES as Partial<Record<string, string>>)[code] ?? BLOCK_MESSAGES.gate_unavailable,
    reason,
    retryAfter: null,
  },
});
