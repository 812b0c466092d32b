import type { NewConfirmation } from './ledger.ts';
import type { PersonDirectory } from './person-directory.ts';
import { isOwnRequest } from './rights.ts';
import { escalatedSeatsOf, isAwayThroughout, type Seat } from './seats.ts';

export interface Attainable {
  /** How many different people could approve before the deadline. */
  readonly people: number;
  /** Why seats cannot be filled, as counts: agents read it, and must not learn who would have to be talked round. */
  readonly explanation: string;
}

/**
 * Whether the quorum could be met at all, with everything that is known when the request is made: who asks, who is
 * excluded, who is away for the whole time and who stands in for them, and whom escalation will add.
 */
export function attainableApprovals(
  request: Pick<NewConfirmation, 'approvers' | 'policy' | 'requester' | 'agentOwner'> & {
    readonly createdAt: Date;
    readonly decideBy: Date;
  },
  people: PersonDirectory,
): Attainable {
  const life = { from: request.createdAt, until: request.decideBy };
  const { policy } = request;
  const escalationComes = policy.escalation !== null && policy.escalation.afterMs < policy.decideWithinMs;
  const seats = [...request.approvers, ...(escalationComes ? escalatedSeatsOf(request) : [])];
  const isActive = (id: string) => people.byId(id)?.active === true;
  const found = new Set<string>();
  const missing = new Map<string, number>();

  const whyNot = (seat: Seat): string | null => {
    if (!isActive(seat.id)) return 'inactive';
    if (!policy.allowSelfApproval && isOwnRequest(request, seat.id))
      return 'asked for it or answers for the agent';
    if (policy.excluded.includes(seat.id)) return 'excluded';
    if (!isAwayThroughout(seat.away, life)) {
      found.add(seat.id);
      return null;
    }
    const delegate = seat.away?.delegate;
    if (!delegate) return 'away';
    const acts =
      isActive(delegate.id) &&
      !isOwnRequest(request, delegate.id) &&
      !policy.excluded.includes(delegate.id) &&
      !isAwayThroughout(delegate.away, life) &&
      !seats.some(({ id }) => id === delegate.id) &&
      !found.has(delegate.id);
    if (!acts) return 'away, with a delegate who cannot take the seat';
    found.add(delegate.id);
    return null;
  };
  for (const seat of seats) {
    const why = whyNot(seat);
    if (why !== null) missing.set(why, (missing.get(why) ?? 0) + 1);
  }
  const counts = [...missing].map(([why, count]) => `${count} ${why}`).join(', ');
  return { people: found.size, explanation: counts === '' ? '' : ` Not counted: ${counts}.` };
}
