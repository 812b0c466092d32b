import { CountersignError } from '../errors.ts';
import { auditActorOf } from './cancel.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { ClaimInput, ClaimOutcome } from './confirmation-service.ts';
import { subjectOf } from './decision-event.ts';
import { digestOf } from './digest.ts';
import { type GateControls, stoppedBy } from './gate-controls.ts';
import type { ConfirmationLedger, LedgerTransaction, LockedRequest } from './ledger.ts';
import { revokeInside } from './revoke-inside.ts';
import type { ToolFacts } from './tool-facts.ts';

type RefusalCode = Extract<ClaimOutcome, { kind: 'refused' }>['code'];

/**
 * Uses the grant up, once, for exactly the arguments that were approved. One transaction: the switches shared, the
 * request locked, everything checked again, then the guarded UPDATE that returns one row, or nothing runs. What has
 * changed since the approval (the tool's definition, read-only, a freeze) revokes the grant for good. Throws `unavailable`,
 * and nothing is changed, where nobody can say whether the tool has.
 */
export function claim(
  input: ClaimInput,
  ports: { readonly ledger: ConfirmationLedger; readonly toolFacts: ToolFacts },
): Promise<ClaimOutcome> {
  return ports.ledger.transact(async (transaction) => {
    const controls = await transaction.lockControls();
    const locked = await transaction.lock(input.id);
    if (!locked) return { kind: 'not-found' };
    const { request } = locked;

    const before = await claimedBefore(input, request, transaction);
    if (before !== null) return before;
    const refusal = refusalOf(input, locked);
    if (refusal !== null) return refuse(request, refusal, { opensInMs: locked.opensInMs });
    if (locked.window === 'over') return refuse(await lapseInside(transaction, request), 'lapsed');
    const revocation = revocationOf(locked, controls, ports.toolFacts);
    if (revocation !== null) {
      const revoked = await revokeInside(transaction, request, {
        revocation: { detail: revocation, by: null, reason: null },
        actor: auditActorOf(input.actor),
        channel: null,
      });
      return refuse(revoked, 'revoked', { detail: revocation });
    }

    const claimed = await transaction.claim(request.id, request.argsDigest);
    if (!claimed) {
      // Only the clock can have moved on under the lock: the window closed between the two statements.
      return refuse(await lapseInside(transaction, request), 'lapsed');
    }
    transaction.record({
      kind: 'grant.claimed',
      ...subjectOf(request),
      actor: auditActorOf(input.actor),
      data: {
        argsDigest: request.argsDigest,
        sendBy: claimed.sendBy.toISOString(),
        ...(input.claimant !== undefined && { claimant: input.claimant }),
      },
    });
    return { kind: 'claimed', ...claimed };
  });
}

/** The same claim, made before: its event says by whom. */
async function claimedBefore(
  { id, claimant }: ClaimInput,
  request: ConfirmationRequest,
  transaction: LedgerTransaction,
): Promise<ClaimOutcome | null> {
  if (claimant === undefined || request.status !== 'approved' || request.execution.status !== 'claimed')
    return null;
  if ((await transaction.claimantOf(id)) !== claimant) return null;
  const { executeBy, sendBy } = request.execution;
  return { kind: 'claimed', request, executeBy, sendBy };
}

function refusalOf(input: ClaimInput, locked: LockedRequest): RefusalCode | null {
  const { request } = locked;
  const sameRun = input.actor.type === 'run' && input.actor.run === request.runId;
  if (request.runId !== null && !sameRun) return 'grant_of_a_run';
  if (request.status !== 'approved') return 'not_approved';
  switch (request.execution.status) {
    case 'lapsed':
      return 'lapsed';
    case 'revoked':
      return 'revoked';
    case 'unclaimed':
      break;
    default:
      return 'already_claimed';
  }
  const digest = digestOf({ ...request, args: input.args });
  // The stored arguments are digested again too: what runs is what was shown, whatever happened to the row.
  if (digest !== request.argsDigest || digestOf(request) !== request.argsDigest) return 'args_changed';
  return locked.window === 'before' ? 'not_yet_executable' : null;
}

function revocationOf(
  locked: LockedRequest,
  controls: GateControls,
  toolFacts: ToolFacts,
): 'tool_changed' | 'read_only' | 'frozen' | null {
  const { request, toolWrites, connector } = locked;
  if (toolFacts.isUnlisted(request.tool)) {
    const what = `The server of the tool "${request.tool}" has not been there since the service started`;
    throw new CountersignError('unavailable', `${what}; claim again once it is.`);
  }
  if (toolFacts.versionOf(request.tool) !== request.toolVersion) return 'tool_changed';
  return stoppedBy({ tool: request.tool, writes: toolWrites, connector }, controls);
}

const refuse = (
  request: ConfirmationRequest,
  code: RefusalCode,
  { detail = null, opensInMs = 0 }: { readonly detail?: string | null; readonly opensInMs?: number } = {},
): ClaimOutcome => ({
  kind: 'refused',
  code,
  request,
  detail,
  retryAfterMs: code === 'not_yet_executable' ? opensInMs : null,
});

/** Ends a grant that was not used in time, with its event, and gives the request back as it is then. */
export async function lapseInside(
  transaction: LedgerTransaction,
  request: ConfirmationRequest,
): Promise<ConfirmationRequest> {
  const lapsed = await transaction.moveExecution(request.id, {
    from: 'unclaimed',
    to: 'lapsed',
    source: null,
    detail: null,
  });
  if (!lapsed) return request;
  transaction.record({
    kind: 'grant.lapsed',
    ...subjectOf(request),
    actor: { type: 'system', id: 'countersign', name: 'Countersign' },
    data: { argsDigest: request.argsDigest },
  });
  return lapsed;
}
