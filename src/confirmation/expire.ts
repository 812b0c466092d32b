import type { ConfirmationId } from '../ids.ts';
import type { ClosedConfirmationRequest } from './confirmation-request.ts';
import { decided } from './decision-event.ts';
import type { LedgerTransaction } from './ledger.ts';

/**
 * Closes a locked request whose deadline has passed, with its audit event. Expiry is final: whoever finds a request
 * past its deadline (a vote, a cancellation, the sweeper) closes it so.
 */
export async function expireInside(
  transaction: LedgerTransaction,
  id: ConfirmationId,
): Promise<ClosedConfirmationRequest> {
  const request = await transaction.close(id, { status: 'expired', by: null, reason: null, code: 'expired' });
  if (!request) throw new Error(`Confirmation ${id} is past its deadline and does not expire`);
  transaction.record(decided(request, null));
  return request;
}
