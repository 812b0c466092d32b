import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';
import type { Vote } from './vote.ts';

/** Who approved and did not reject since; each person once. What a quorum counts. */
export const approvalsOf = (request: Pick<ConfirmationRequest, 'votes'>): readonly PersonRef[] =>
  approvingVotesOf(request).map(({ person }) => person);

/** The same with the seats that they fill. */
export function approvingVotesOf(request: Pick<ConfirmationRequest, 'votes'>): readonly Vote[] {
  const rejecting = new Set(
    request.votes.filter(({ verdict }) => verdict === 'reject').map(({ person }) => person.id),
  );
  const approving = request.votes.filter(
    ({ verdict, person }) => verdict === 'approve' && !rejecting.has(person.id),
  );
  return [...new Map(approving.map((vote) => [vote.person.id, vote])).values()];
}

/** What they wrote, those who wrote something, in the order of their votes. */
export const approvalReasonsOf = (request: Pick<ConfirmationRequest, 'votes'>): readonly string[] =>
  approvingVotesOf(request)
    .map(({ reason }) => reason)
    .filter((reason) => reason !== null);
