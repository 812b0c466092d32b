import type { Verdict } from '../verdict.ts';
import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';
import type { PersonDirectory } from './person-directory.ts';
import { isAwayAt, type Seat, seatsOf } from './seats.ts';

/** Why somebody may not vote, or not so. */
export type VoteRefusal =
  | 'not_an_approver'
  | 'inactive_person'
  | 'self_approval'
  | 'excluded'
  | 'seat_taken'
  | 'args_changed';

export type Standing =
  /** The seat that a vote of theirs fills: their own, or that of the person they stand in for. */
  | { readonly kind: 'seated'; readonly seat: PersonRef }
  | { readonly kind: 'refused'; readonly code: VoteRefusal };

export interface StandingFacts {
  readonly request: ConfirmationRequest;
  readonly people: PersonDirectory;
  /** The database clock, read while the request is held. */
  readonly now: Date;
}

/**
 * Which seat a vote of this person fills, or why none: the same for every surface. Whoever has a seat votes in it and
 * stands in for nobody. Rejecting is the safe side, so what speaks against approving does not forbid it.
 */
export function standingOf(
  { person, verdict }: { readonly person: string; readonly verdict: Verdict },
  facts: StandingFacts,
): Standing {
  const { request, people } = facts;
  const seats = seatsOf(request);
  const own = seats.find(({ id }) => id === person);
  const deputed = seats.filter(({ away }) => away?.delegate?.id === person);
  const earlier = request.votes.find((vote) => vote.person.id === person);
  if (own === undefined && deputed.length === 0 && earlier === undefined) return refused('not_an_approver');
  if (people.byId(person)?.active !== true) return refused('inactive_person');
  // Who approved may take it back, wherever they sat.
  if (verdict === 'reject' && earlier !== undefined) return seated(earlier.seat);
  if (own !== undefined) {
    if (verdict === 'reject') return seated(own);
    const conflict = conflictOf(request, person);
    if (conflict !== null) return refused(conflict);
    return takenBy(request, own.id, person) ? refused('seat_taken') : seated(own);
  }
  return deputyStanding({ person, verdict, deputed }, facts);
}

function deputyStanding(
  input: { readonly person: string; readonly verdict: Verdict; readonly deputed: readonly Seat[] },
  { request, people, now }: StandingFacts,
): Standing {
  const { person, verdict, deputed } = input;
  // Self-approval that a policy allows is an approver's; nobody approves their own request for somebody else.
  if (isOwnRequest(request, person)) return refused('self_approval');
  if (request.policy.excluded.includes(person)) return refused('excluded');
  const open = deputed.filter(
    ({ id, away }) =>
      away !== null &&
      isAwayAt(away, now) &&
      !isAwayAt(away.delegate?.away ?? null, now) &&
      people.byId(id)?.active === true,
  );
  if (open.length === 0) return refused('not_an_approver');
  // Nobody approves through a delegate what they could not approve themselves.
  const lawful = verdict === 'reject' ? open : open.filter(({ id }) => conflictOf(request, id) === null);
  const [first] = lawful;
  if (first === undefined) return refused(conflictOf(request, open[0]?.id ?? person) ?? 'not_an_approver');
  const free = lawful.find(({ id }) => !takenBy(request, id, person));
  return free === undefined ? refused('seat_taken') : seated(free);
}

/** Why somebody may not approve this request, whoever casts the vote for them. */
export function conflictOf(
  request: ConfirmationRequest,
  person: string,
): 'self_approval' | 'excluded' | null {
  if (!request.policy.allowSelfApproval && isOwnRequest(request, person)) return 'self_approval';
  return request.policy.excluded.includes(person) ? 'excluded' : null;
}

/** The requester, and the person answerable for the agent that asked. */
export const isOwnRequest = (
  request: Pick<ConfirmationRequest, 'requester' | 'agentOwner'>,
  person: string,
): boolean => request.requester.id === person || request.agentOwner === person;

/** Somebody else has approved for this seat. */
const takenBy = (request: ConfirmationRequest, seat: string, person: string): boolean =>
  request.votes.some(
    (vote) => vote.verdict === 'approve' && vote.seat.id === seat && vote.person.id !== person,
  );

const seated = ({ id, name }: PersonRef): Standing => ({ kind: 'seated', seat: { id, name } });
const refused = (code: VoteRefusal): Standing => ({ kind: 'refused', code });
