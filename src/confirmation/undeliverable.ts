import { assertNever } from '../assert-never.ts';
import type { Unreached } from '../channel/delivery-outbox.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Reach } from './card-places.ts';
import { decided } from './decision-event.ts';
import type { ConfirmationLedger, LedgerTransaction, Reached } from './ledger.ts';
import { rerouteInside } from './reroute.ts';

/** What became of a request of which no card reached anybody. */
export type UnreachedEnd = 'rerouted' | 'closed' | 'unchanged';

/**
 * Asks the fallback channels about a request of which no card stands in any chat. Where the policy has none, or they
 * were asked before, closes it: pending, without votes, and without a card that was sent or possibly sent. What was
 * found without holding the request is checked again here: another process may have asked somebody else meanwhile.
 */
export function endUnreached(
  found: Unreached,
  ports: { readonly ledger: ConfirmationLedger; readonly reach: Reach },
): Promise<UnreachedEnd> {
  const { confirmationId: id, reason } = found;
  return ports.ledger.transact(async (transaction) => {
    const locked = await transaction.lock(id);
    if (locked?.request.status !== 'pending') return 'unchanged';
    const { request } = locked;
    if (found.rerouted !== (request.reroutedAt !== null)) return 'unchanged';
    const reached = await transaction.reached(id);
    if (!stillSo(reason, reached)) return 'unchanged';
    if (await rerouteInside(transaction, request, ports.reach)) return 'rerouted';
    const seen = reached === 'perhaps' || reached === 'lost' || request.votes.length > 0;
    if (reason === 'fallback_due' || seen) return 'unchanged';
    return (await closeUndeliverableInside(transaction, { id, reason })) ? 'closed' : 'unchanged';
  });
}

function stillSo(reason: Unreached['reason'], reached: Reached): boolean {
  switch (reason) {
    case 'channels_refused':
      return reached === 'refused' || reached === 'lost';
    case 'delivery_timeout':
    case 'fallback_due':
      return reached !== 'somebody';
    default:
      return assertNever(reason);
  }
}

/** Closes it inside a transaction that holds the request. */
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
