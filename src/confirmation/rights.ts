import type { ConfirmationRequest } from './confirmation-request.ts';
import type { DecideInput } from './confirmation-service.ts';

/** Who may not vote, and why; null where nothing speaks against it. The same for every surface. */
export function refusalOf(
  input: Pick<DecideInput, 'person' | 'verdict' | 'argsDigest'>,
  request: ConfirmationRequest,
  person: { readonly active: boolean } | null,
): 'inactive_person' | 'not_an_approver' | 'self_approval' | 'args_changed' | null {
  if (!request.approvers.some((approver) => approver.id === input.person)) return 'not_an_approver';
  if (person === null || !person.active) return 'inactive_person';
  if (
    input.verdict === 'approve' &&
    isOwnRequest(request, input.person) &&
    !request.policy.allowSelfApproval
  ) {
    return 'self_approval';
  }
  if (input.argsDigest !== null && input.argsDigest !== request.argsDigest) return 'args_changed';
  return null;
}

/** The requester, and the person answerable for the agent that asked. */
export const isOwnRequest = (request: ConfirmationRequest, person: string): boolean =>
  request.requester.id === person || request.agentOwner === person;
