import { auditActorOf } from './cancel.ts';
import type { OutcomeInput, OutcomeOutcome, SettleInput, SettleOutcome } from './confirmation-service.ts';
import { actorOf, subjectOf } from './decision-event.ts';
import type { ConfirmationLedger } from './ledger.ts';
import type { PersonDirectory } from './person-directory.ts';
import { standingOf } from './rights.ts';

/** Longest detail kept with an outcome, in UTF-16 units. */
const LONGEST_DETAIL = 2_000;

/** Records what became of a claimed grant, once. The same again changes nothing. */
export function recordOutcome(
  input: OutcomeInput,
  ports: { readonly ledger: ConfirmationLedger },
): Promise<OutcomeOutcome> {
  return ports.ledger.transact(async (transaction) => {
    const locked = await transaction.lock(input.id);
    if (!locked) return { kind: 'not-found' };
    const { request } = locked;
    const sameRun = input.actor.type === 'run' && input.actor.run === request.runId;
    if (request.runId !== null && !sameRun) return { kind: 'refused', code: 'grant_of_a_run', request };
    if (request.status !== 'approved') return { kind: 'refused', code: 'not_claimed', request };

    const detail = input.detail === null ? null : storable(input.detail);
    const { execution } = request;
    switch (execution.status) {
      case 'claimed':
        break;
      case 'unknown':
        // Given up by time alone. The run's own executor has the answer after all, from before it was taken over.
        if (execution.source === 'timeout' && sameRun && input.status !== 'unknown') break;
        return input.status === 'unknown'
          ? { kind: 'recorded', request }
          : { kind: 'refused', code: 'outcome_recorded', request };
      case 'succeeded':
      case 'failed':
        return execution.status === input.status
          ? { kind: 'recorded', request }
          : { kind: 'refused', code: 'outcome_recorded', request };
      default:
        return { kind: 'refused', code: 'not_claimed', request };
    }
    const ended = await transaction.moveExecution(request.id, {
      from: execution.status,
      to: input.status,
      source: input.actor.type === 'run' ? 'executor' : 'agent',
      detail,
    });
    transaction.record({
      kind: 'outcome.recorded',
      ...subjectOf(request),
      actor: auditActorOf(input.actor),
      data: { status: input.status, detail, argsDigest: request.argsDigest },
    });
    return { kind: 'recorded', request: ended ?? request };
  });
}

/** A person who could have approved says what became of an execution that nobody knows the outcome of. */
export function settle(
  input: SettleInput,
  ports: { readonly ledger: ConfirmationLedger; readonly people: PersonDirectory },
): Promise<SettleOutcome> {
  return ports.ledger.transact(async (transaction) => {
    const locked = await transaction.lock(input.id);
    if (!locked) return { kind: 'not-found' };
    const { request } = locked;
    const person = ports.people.byId(input.person);
    const standing = standingOf(
      { person: input.person, verdict: 'approve' },
      { request, people: ports.people, now: locked.now },
    );
    // Somebody else's vote for the seat does not keep its holder from saying what became of the call.
    if (standing.kind === 'refused' && standing.code !== 'seat_taken' && standing.code !== 'args_changed')
      return { kind: 'refused', code: standing.code, request };
    if (person === null) throw new Error('A person who is not in the directory passed the check of rights');
    if (request.status !== 'approved' || request.execution.status !== 'unknown') {
      return { kind: 'refused', code: 'not_unknown', request };
    }
    const detail = storable(input.detail);
    const settled = await transaction.moveExecution(request.id, {
      from: 'unknown',
      to: input.status,
      source: 'settlement',
      detail,
    });
    transaction.record({
      kind: 'outcome.settled',
      ...subjectOf(request),
      actor: actorOf(person),
      data: { status: input.status, detail, person: person.id, argsDigest: request.argsDigest },
    });
    return { kind: 'settled', request: settled ?? request };
  });
}

/** What PostgreSQL can keep: bounded, well-formed, without NUL. */
const storable = (text: string): string =>
  text.slice(0, LONGEST_DETAIL).toWellFormed().replaceAll('\u0000', '\uFFFD');
