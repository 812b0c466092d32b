import type { NewAuditEvent } from '../audit/audit-event.ts';
import { reasonRequired } from '../verdict.ts';
import { type PersonRef, surfaceName } from './confirmation-request.ts';
import type { DecideInput, DecideOutcome } from './confirmation-service.ts';
import { actorOf, subjectOf } from './decision-event.ts';
import type { CastVote, LockedRequest } from './ledger.ts';
import { isAnythingDue } from './next-step.ts';
import type { PersonDirectory } from './person-directory.ts';
import { countApprovals } from './quorum-count.ts';
import { standingOf, type VoteRefusal } from './rights.ts';

export type WeighedVote =
  /** Nothing is to be changed: this is the answer. */
  | { readonly kind: 'answered'; readonly outcome: DecideOutcome }
  /** The deadline has come: the request expires first. */
  | { readonly kind: 'late' }
  /** Time has done something to the request that is not written down yet, and may matter to the vote. */
  | { readonly kind: 'due' }
  /** The vote counts, and so does the decision that it leads to, with the event that says so. */
  | { readonly kind: 'counts'; readonly cast: CastVote; readonly event: NewAuditEvent };

/**
 * What a vote on a locked request comes to: repeat or closed, late, rights, digest, reason; then the vote, and with the
 * vote that completes the quorum (or any rejection) the decision. Reads nothing but what it is given, and changes
 * nothing.
 */
export function weighVote(input: DecideInput, locked: LockedRequest, people: PersonDirectory): WeighedVote {
  const { request } = locked;
  const answered = (outcome: DecideOutcome): WeighedVote => ({ kind: 'answered', outcome });
  const latestOwn = request.votes.findLast((vote) => vote.person.id === input.person);
  if (latestOwn?.verdict === input.verdict) return answered({ kind: 'repeated', request });
  if (request.status === 'expired') return answered({ kind: 'expired', request });
  if (request.status !== 'pending') return answered({ kind: 'already-decided', request });
  if (locked.late) return { kind: 'late' };
  // A delegate's time may have begun a moment ago; whoever comes first seats them.
  if (isAnythingDue(request, locked.now)) return { kind: 'due' };

  const refused = (code: VoteRefusal): WeighedVote => answered({ kind: 'refused', code, request });
  const person = people.byId(input.person);
  const standing = standingOf(input, { request, people, now: locked.now });
  if (standing.kind === 'refused') return refused(standing.code);
  if (input.argsDigest !== null && input.argsDigest !== request.argsDigest) return refused('args_changed');
  if (person === null) throw new Error('A person who is not in the directory passed the check of rights');
  const reason = input.reason?.trim() || null;
  if (reason === null && reasonRequired(request.policy.reason, input.verdict)) {
    return answered({ kind: 'reason-required', request });
  }

  const by: PersonRef = { id: person.id, name: person.name };
  const channel = surfaceName(input.surface);
  const seen = (input.surface.kind === 'channel' && input.surface.seen) || null;
  const vote = {
    confirmationId: request.id,
    person: by,
    seat: standing.seat,
    verdict: input.verdict,
    reason,
    channel,
    argsDigest: request.argsDigest,
    seen,
  };
  // Rights are checked again for every vote that the quorum rests on.
  const approvals = countApprovals(request, [...request.votes, vote], people);
  const closes = input.verdict === 'reject' || approvals >= request.policy.quorum;
  const outcome = input.verdict === 'reject' ? 'rejected' : 'approved';
  return {
    kind: 'counts',
    cast: { vote, decision: closes ? { status: outcome, by, reason, code: outcome } : null },
    event: {
      kind: 'vote.cast',
      ...subjectOf(request),
      actor: actorOf(by),
      data: {
        person: by.id,
        for: standing.seat.id === by.id ? null : standing.seat.id,
        verdict: input.verdict,
        reason,
        channel,
        argsDigest: request.argsDigest,
        approvals,
        quorum: request.policy.quorum,
        seen: seen === null ? null : { ...seen, at: seen.at.toISOString() },
      },
    },
  };
}
