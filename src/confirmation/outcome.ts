import { auditActorOf } from './cancel.ts';
import type { OutcomeInput, OutcomeOutcome } from './confirmation-service.ts';
import { subjectOf } from './decision-event.ts';
import type { ConfirmationLedger } from './ledger.ts';

/** Longest detail kept with an outcome, in UTF-16 units. */
export const LONGEST_DETAIL = 2_000;

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
        // Not once a person has asked to run it again: then that attempt has the word.
        if (
          execution.source === 'timeout' &&
          sameRun &&
          input.status !== 'unknown' &&
          request.supersededBy === null
        )
          break;
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

/** What PostgreSQL can keep: bounded, well-formed, without NUL. */
export const storable = (text: string): string =>
  text.slice(0, LONGEST_DETAIL).toWellFormed().replaceAll('\u0000', '\uFFFD');
