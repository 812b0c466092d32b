import type { ConfirmationId } from '../ids.ts';
import { decided } from './decision-event.ts';
import type { ConfirmationLedger, LedgerTransaction } from './ledger.ts';

/**
 * Closes a request that nobody could be asked about: pending, without votes, and without a card that was sent or
 * possibly sent. Returns whether it was closed.
 */
export function closeUndeliverable(
  input: { readonly id: ConfirmationId; readonly reason: string },
  ports: { readonly ledger: ConfirmationLedger },
): Promise<boolean> {
  return ports.ledger.transact(async (transaction) => {
    const locked = await transaction.lock(input.id);
    if (locked?.request.status !== 'pending' || locked.request.votes.length > 0) return false;
    if (!(await transaction.reachedNobody(input.id))) return false;
    return closeUndeliverableInside(transaction, input);
  });
}

/** The same inside a transaction that holds the request (a request that too few people could decide). */
export async function closeUndeliverableInside(
  transaction: LedgerTransaction,
  input: { readonly id: ConfirmationId; readonly reason: string },
): Promise<boolean> {
  const closed = await transaction.close(input.id, {
    status: 'undeliverable',
    by: null,
    reason: input.reason,
    code: 'undeliverable',
  });
  if (closed) transaction.record(decided(closed, null));
  return closed !== null;
}
