import { reasonRequired } from '../verdict.ts';
import { attendInside } from './attend.ts';
import { type PersonRef, surfaceName } from './confirmation-request.ts';
import type { DecideInput, DecideOutcome } from './confirmation-service.ts';
import { DeadlinePassed } from './deadline-passed.ts';
import { actorOf, decided, subjectOf } from './decision-event.ts';
import { expireInside } from './expire.ts';
import type { ConfirmationLedger, LedgerTransaction } from './ledger.ts';
import { isAnythingDue } from './next-step.ts';
import type { PersonDirectory } from './person-directory.ts';
import { countApprovals } from './quorum-count.ts';
import { standingOf, type VoteRefusal } from './rights.ts';

/**
 * The one door through which people decide, for every surface. Order: lock the request, read the clock, repeat or
 * closed, late, rights, digest, reason; then the vote, and with the vote that completes the quorum (or any
 * rejection) the decision, each with its audit event, in one transaction.
 *
 * Nothing here turns a fault into a decision: a throw rolls everything back, and the surface says "not recorded".
 */
export async function decide(
  input: DecideInput,
  ports: { readonly ledger: ConfirmationLedger; readonly people: PersonDirectory },
): Promise<DecideOutcome> {
  try {
    return await ports.ledger.transact((transaction) => decideInside(input, transaction, ports.people));
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
    // The deadline came between the lock and the guarded update. The vote was rolled back with everything else.
    return ports.ledger.transact((transaction) => decideInside(input, transaction, ports.people));
  }
}

async function decideInside(
  input: DecideInput,
  transaction: LedgerTransaction,
  people: PersonDirectory,
): Promise<DecideOutcome> {
  const locked = await transaction.lock(input.id);
  if (!locked) return { kind: 'not-found' };
  let { request } = locked;

  const latestOwn = request.votes.findLast((vote) => vote.person.id === input.person);
  if (latestOwn?.verdict === input.verdict) return { kind: 'repeated', request };
  if (request.status === 'expired') return { kind: 'expired', request };
  if (request.status !== 'pending') return { kind: 'already-decided', request };
  if (locked.late) return { kind: 'expired', request: await expireInside(transaction, request.id) };

  // A delegate's time may have begun a moment ago; whoever comes first seats them.
  if (isAnythingDue(request, locked.now)) {
    const attended = await attendInside(transaction, request, locked.now);
    if (attended === null) throw new DeadlinePassed(request.id);
    request = attended;
  }

  const person = people.byId(input.person);
  const refuse = (code: VoteRefusal): DecideOutcome => ({ kind: 'refused', code, request });
  const standing = standingOf(input, { request, people, now: locked.now });
  if (standing.kind === 'refused') return refuse(standing.code);
  if (input.argsDigest !== null && input.argsDigest !== request.argsDigest) return refuse('args_changed');
  if (person === null) throw new Error('A person who is not in the directory passed the check of rights');
  if (reasonRequired(request.policy.reason, input.verdict) && !input.reason?.trim()) {
    return { kind: 'reason-required', request };
  }

  const by: PersonRef = { id: person.id, name: person.name };
  const channel = surfaceName(input.surface);
  const reason = input.reason?.trim() ? input.reason.trim() : null;
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
  const votes = [...request.votes, vote];
  // Rights are checked again for every vote that the quorum rests on.
  const approvals = countApprovals(request, votes, people);
  transaction.record({
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
  });

  const closes = input.verdict === 'reject' || approvals >= request.policy.quorum;
  const outcome = input.verdict === 'reject' ? 'rejected' : 'approved';
  const decision = { status: outcome, by, reason, code: outcome } as const;
  const after = await transaction.castVote(vote, closes ? decision : null);
  if (!after) throw new DeadlinePassed(request.id);
  if (after.status !== 'pending') transaction.record(decided(after, channel));
  return { kind: 'recorded', request: after, closed: closes };
}
