import type { AuditActor } from '../audit/audit-event.ts';
import type { HookContext } from '../hook/hook-context.ts';
import type { ConfirmationId } from '../ids.ts';
import { decided } from './decision-event.ts';
import type { LedgerTransaction, LockedRequest, SameCall } from './ledger.ts';
import { revokeInside } from './revoke-inside.ts';

/**
 * By what an outside agent's two questions are about the same call: key, agent, session, tool and its own id of the
 * call, all of them. Null where one is missing, and for calls of our own runs, which have ids of ours: such a question
 * stands alone.
 */
export function sameCallOf({ metadata, agentId, sessionId, toolName, runId }: HookContext): SameCall | null {
  const { ask, callId } = metadata;
  if (runId !== null || ask === null || sessionId === null || callId === null) return null;
  return { apiKeyId: ask.apiKeyId, agent: agentId, session: sessionId, callId, tool: toolName };
}

/**
 * The open requests about this call with other arguments, oldest first, held until the transaction ends. What is
 * claimed already is not among them: it may have run, and the new question stands alone.
 */
export async function lockOutdated(
  transaction: LedgerTransaction,
  call: SameCall,
  argsDigest: string,
): Promise<readonly LockedRequest[]> {
  const found = await transaction.lockSameCall(call);
  return found.filter(({ request, late, window }) => {
    if (request.argsDigest === argsDigest) return false;
    if (request.status === 'pending') return !late;
    return request.status === 'approved' && request.execution.status === 'unclaimed' && window !== 'over';
  });
}

/**
 * Closes them in favour of the newer question, so that never two sets of arguments of one call can run: a pending one
 * is cancelled, of an approved one the unused grant is revoked. `successor` is null where the newer question needs
 * nobody's confirmation.
 */
export async function closeOutdated(
  transaction: LedgerTransaction,
  outdated: readonly LockedRequest[],
  { call, successor }: { readonly call: SameCall; readonly successor: ConfirmationId | null },
): Promise<void> {
  const actor: AuditActor = { type: 'key', id: call.apiKeyId, name: call.agent };
  for (const { request } of outdated) {
    if (request.status === 'approved') {
      const revocation = { detail: 'superseded', by: null, reason: null } as const;
      await revokeInside(transaction, request, { revocation, actor, channel: null, supersededBy: successor });
      continue;
    }
    // Null: its deadline came between the lock and now, and it expires.
    const closed = await transaction.close(request.id, {
      status: 'cancelled',
      by: null,
      reason: null,
      code: 'superseded',
      supersededBy: successor,
    });
    if (closed) transaction.record({ ...decided(closed, null), actor });
  }
}
