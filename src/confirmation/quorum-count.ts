import type { ConfirmationRequest } from './confirmation-request.ts';
import type { PersonDirectory } from './person-directory.ts';
import { conflictOf, isOwnRequest } from './rights.ts';
import type { Vote } from './vote.ts';

/**
 * How many approving votes count, at the moment when the quorum could close: of distinct people, for distinct seats,
 * each vote checked again as if it were cast now. What was cast by somebody who has left since no longer counts.
 */
export function countApprovals(
  request: ConfirmationRequest,
  votes: readonly Pick<Vote, 'person' | 'seat' | 'verdict'>[],
  people: PersonDirectory,
): number {
  const rejecting = new Set(votes.flatMap(({ verdict, person }) => (verdict === 'reject' ? person.id : [])));
  const counting = votes.filter(
    ({ verdict, person, seat }) =>
      verdict === 'approve' &&
      !rejecting.has(person.id) &&
      [person.id, seat.id].every(
        (id) => people.byId(id)?.active === true && conflictOf(request, id) === null,
      ) &&
      (person.id === seat.id || !isOwnRequest(request, person.id)),
  );
  return Math.min(
    new Set(counting.map(({ person }) => person.id)).size,
    new Set(counting.map(({ seat }) => seat.id)).size,
  );
}
