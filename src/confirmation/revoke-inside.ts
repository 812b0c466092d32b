import type { AuditActor } from '../audit/audit-event.ts';
import type { ConfirmationId } from '../ids.ts';
import type { ConfirmationRequest, Revocation } from './confirmation-request.ts';
import { subjectOf } from './decision-event.ts';
import type { LedgerTransaction } from './ledger.ts';

/**
 * Ends an unused grant for good, with its event, in a transaction that holds the request; gives the request back as
 * it is then. A grant that is not unclaimed stays as it is, without an event.
 */
export async function revokeInside(
  transaction: LedgerTransaction,
  request: ConfirmationRequest,
  input: {
    readonly revocation: Revocation;
    readonly actor: AuditActor;
    /** Where a person did it: the channel's id, or `api`; null otherwise. */
    readonly channel: string | null;
    /** The request in whose favour it is. */
    readonly supersededBy?: ConfirmationId | null;
  },
): Promise<ConfirmationRequest> {
  const { revocation, actor, channel, supersededBy = null } = input;
  const revoked = await transaction.moveExecution(request.id, {
    from: 'unclaimed',
    to: 'revoked',
    source: null,
    supersededBy,
    ...revocation,
  });
  if (!revoked) return request;
  transaction.record({
    kind: 'grant.revoked',
    ...subjectOf(request),
    actor,
    data: {
      detail: revocation.detail,
      person: revocation.by?.id ?? null,
      reason: revocation.reason,
      channel,
      argsDigest: request.argsDigest,
      ...(supersededBy === null ? {} : { supersededBy }),
    },
  });
  return revoked;
}
