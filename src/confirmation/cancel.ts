import { type AuditActor, SYSTEM_ACTOR } from '../audit/audit-event.ts';
import type { Actor, CancelInput, CancelOutcome } from './confirmation-service.ts';
import { DeadlinePassed } from './deadline-passed.ts';
import { actorOf, decided } from './decision-event.ts';
import { expireInside } from './expire.ts';
import type { ConfirmationLedger, LedgerTransaction } from './ledger.ts';
import { revokeInside } from './revoke-inside.ts';

/**
 * Withdraws a request. A pending one closes as cancelled. An approved one whose grant is unused stays approved and
 * its grant is revoked. What is claimed or closed otherwise stays as it is; cancelling twice changes nothing.
 */
export async function cancel(
  input: CancelInput,
  ports: { readonly ledger: ConfirmationLedger },
): Promise<CancelOutcome> {
  try {
    return await ports.ledger.transact((transaction) => cancelInside(input, transaction));
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
    return ports.ledger.transact((transaction) => cancelInside(input, transaction));
  }
}

async function cancelInside(input: CancelInput, transaction: LedgerTransaction): Promise<CancelOutcome> {
  const locked = await transaction.lock(input.id);
  if (!locked) return { kind: 'not-found' };
  const { request } = locked;
  const by = input.actor.type === 'person' ? input.actor.person : null;

  if (request.status === 'cancelled') return { kind: 'cancelled', request };
  if (request.status === 'approved') {
    if (request.execution.status === 'revoked') return { kind: 'cancelled', request };
    if (request.execution.status !== 'unclaimed') return { kind: 'already-decided', request };
    const revoked = await revokeInside(transaction, request, {
      revocation: { detail: 'cancelled', by, reason: input.reason },
      actor: auditActorOf(input.actor),
      channel: by === null ? null : 'api',
    });
    return { kind: 'cancelled', request: revoked };
  }
  if (request.status !== 'pending') return { kind: 'already-decided', request };
  if (locked.late) return { kind: 'already-decided', request: await expireInside(transaction, request.id) };

  const after = await transaction.close(request.id, {
    status: 'cancelled',
    by,
    reason: input.reason,
    code: 'cancelled',
  });
  if (!after) throw new DeadlinePassed(request.id);
  transaction.record({ ...decided(after, null), actor: auditActorOf(input.actor) });
  return { kind: 'cancelled', request: after };
}

/** Who acted, as the record names them. */
export function auditActorOf(actor: Actor): AuditActor {
  switch (actor.type) {
    case 'person':
      return actorOf(actor.person);
    case 'key':
      return { type: 'key', id: actor.id, name: actor.agent ?? actor.id };
    case 'run':
      return { type: 'agent', id: actor.agent, name: actor.agent };
    case 'system':
      return SYSTEM_ACTOR;
  }
}
