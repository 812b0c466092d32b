import type { AuditActor } from '../audit/audit-event.ts';
import { attainableApprovals } from './attainable-quorum.ts';
import { attendInside } from './attend.ts';
import type { Reach } from './card-places.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { LedgerTransaction, NewConfirmation } from './ledger.ts';
import { isAnythingAhead } from './next-step.ts';
import type { PersonDirectory } from './person-directory.ts';
import { requested } from './requested-event.ts';
import { rerouteInside } from './reroute.ts';
import { closeUndeliverableInside } from './undeliverable.ts';

export interface AskedPeople {
  readonly request: ConfirmationRequest;
  /** Why nobody could be asked, in words for whoever asked: it is closed as undeliverable already. Null: people are asked. */
  readonly undeliverable: string | null;
}

/**
 * Stores a request with its audit event and its deliveries, and takes the steps that are due at once. Null where it, or
 * another one of its Idempotency-Key, is there already.
 */
export async function askPeopleInside(
  transaction: LedgerTransaction,
  facts: NewConfirmation,
  {
    actor,
    people,
    reach,
  }: { readonly actor: AuditActor; readonly people: PersonDirectory; readonly reach: Reach },
): Promise<AskedPeople | null> {
  const { policy } = facts;
  const request = await transaction.insert(facts);
  if (!request) return null;
  transaction.record(requested(request, facts, actor));
  const attainable = attainableApprovals(request, people);
  if (attainable.people < policy.quorum) {
    const reason = `${attainable.people} of the approvers could decide this, and the policy ${policy.id} asks for ${policy.quorum}.${attainable.explanation}`;
    await closeUndeliverableInside(transaction, { id: request.id, reason });
    return { request, undeliverable: 'too few people may decide this call' };
  }
  const isUnreachable = facts.places.length === 0 && policy.channels.length > 0;
  if (isUnreachable && !(await rerouteInside(transaction, request, reach))) {
    await closeUndeliverableInside(transaction, { id: request.id, reason: 'nobody_reachable' });
    return { request, undeliverable: 'no chat is known in which people could be asked about this call' };
  }
  if (isAnythingAhead(request, request.createdAt))
    await attendInside(transaction, request, request.createdAt, reach);
  return { request, undeliverable: null };
}
