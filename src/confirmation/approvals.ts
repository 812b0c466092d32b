import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';

/** Who approved and did not reject since; each person once. What a quorum counts. */
export function approvalsOf(request: Pick<ConfirmationRequest, 'votes'>): readonly PersonRef[] {
  const rejecting = new Set(
    request.votes.filter(({ verdict }) => verdict === 'reject').map(({ person }) => person.id),
  );
  const approving = request.votes.filter(
    ({ verdict, person }) => verdict === 'approve' && !rejecting.has(person.id),
  );
  return [...new Map(approving.map(({ person }) => [person.id, person])).values()];
}
