import { SYSTEM_ACTOR } from '../audit/audit-event.ts';
import { chatPlaces, type Reach } from './card-places.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import { subjectOf } from './decision-event.ts';
import type { LedgerTransaction } from './ledger.ts';

/**
 * Asks the chats of the policy's fallback channels, once, with its event, in a transaction that holds the request.
 * False: the policy has no fallback, it was asked before, or the request is closed or late.
 */
export async function rerouteInside(
  transaction: LedgerTransaction,
  request: ConfirmationRequest,
  reach: Reach,
): Promise<boolean> {
  const { fallback } = request.policy;
  if (fallback === null || !(await transaction.reroute(request.id))) return false;
  await transaction.queueCards(request.id, chatPlaces(fallback.channels, reach));
  transaction.record({
    kind: 'request.rerouted',
    ...subjectOf(request),
    actor: SYSTEM_ACTOR,
    data: { from: [...request.policy.channels], to: [...fallback.channels], notify: request.policy.notify },
  });
  return true;
}
