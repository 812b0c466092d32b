import type { AuditActor } from '../audit/audit-event.ts';
import { attainableApprovals } from './attainable-quorum.ts';
import { attendInside } from './attend.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { LedgerTransaction, NewConfirmation } from './ledger.ts';
import { isAnythingAhead } from './next-step.ts';
import type { PersonDirectory } from './person-directory.ts';
import { requested } from './requested-event.ts';
import { closeUndeliverableInside } from './undeliverable.ts';

export interface AskedPeople {
  readonly request: ConfirmationRequest;
  /** Too few people may decide it: it is closed as undeliverable already. */
  readonly undeliverable: boolean;
}

/**
 * Stores a request with its audit event and its deliveries, and takes the steps that are due at once. Null where its
 * Idempotency-Key has a request already.
 */
export async function askPeopleInside(
  transaction: LedgerTransaction,
  facts: NewConfirmation,
  { actor, people }: { readonly actor: AuditActor; readonly people: PersonDirectory },
): Promise<AskedPeople | null> {
  const { policy } = facts;
  const request = await transaction.insert(facts);
  if (!request) return null;
  transaction.record(requested(request, facts, actor));
  const attainable = attainableApprovals(request, people);
  if (attainable.people < policy.quorum) {
    const reason = `${attainable.people} of the approvers could decide this, and the policy ${policy.id} asks for ${policy.quorum}.${attainable.explanation}`;
    await closeUndeliverableInside(transaction, { id: request.id, reason });
    return { request, undeliverable: true };
  }
  if (isAnythingAhead(request, request.createdAt))
    await attendInside(transaction, request, request.createdAt);
  return { request, undeliverable: false };
}
