import { askPeopleInside } from './ask-people.ts';
import type { PersonRef } from './confirmation-request.ts';
import { surfaceName } from './confirmation-request.ts';
import type { SettleInput, SettleOutcome } from './confirmation-service.ts';
import { actorOf, subjectOf } from './decision-event.ts';
import type { ConfirmationLedger, LedgerTransaction, LockedRequest } from './ledger.ts';
import { storable } from './outcome.ts';
import { isRepeatable, type RerunPorts, rerunOf } from './rerun.ts';
import { standingOf } from './rights.ts';

type RefusalCode = Extract<SettleOutcome, { kind: 'refused' }>['code'];

/**
 * A person who could have approved says what became of an execution that nobody knows the outcome of, or asks to run it
 * again. The request's lock orders them: of any number at once one wins, and the others find what that one did. Nobody
 * is heard before the old attempt can no longer send.
 */
export function settle(
  input: SettleInput,
  ports: RerunPorts & { readonly ledger: ConfirmationLedger },
): Promise<SettleOutcome> {
  return ports.ledger.transact(async (transaction) => {
    // As for every new request: a freeze that begins meanwhile marks its cards too.
    if (input.status === 'run_again') await transaction.lockControls();
    const locked = await transaction.lock(input.id);
    if (!locked) return { kind: 'not-found' };
    const { request } = locked;
    const person = ports.people.byId(input.person);
    const refuse = (code: RefusalCode): SettleOutcome => ({
      kind: 'refused',
      code,
      request,
      retryAfterMs: code === 'not_yet_settleable' ? locked.settleInMs : null,
    });

    const standing = standingOf(
      { person: input.person, verdict: 'approve' },
      { request, people: ports.people, now: locked.now },
    );
    // Somebody else's vote for the seat does not keep its holder from saying what became of the call.
    if (standing.kind === 'refused' && standing.code !== 'seat_taken' && standing.code !== 'args_changed')
      return refuse(standing.code);
    if (person === null) throw new Error('A person who is not in the directory passed the check of rights');
    if (request.status !== 'approved' || request.execution.status !== 'unknown') return refuse('not_unknown');
    if (request.supersededBy !== null) return refuse('superseded');
    if (locked.settleInMs > 0) return refuse('not_yet_settleable');
    if (input.status === 'run_again' && !isRepeatable(request, ports.toolFacts))
      return refuse('not_repeatable');
    if (!input.detail?.trim()) return { kind: 'detail-required', request };

    const by = { id: person.id, name: person.name };
    const detail = storable(input.detail.trim());
    return input.status === 'run_again'
      ? runAgain(transaction, locked, { by, detail, input }, ports)
      : close(transaction, locked, { by, detail, input, status: input.status });
  });
}

interface Said {
  readonly by: PersonRef;
  readonly detail: string;
  readonly input: SettleInput;
}

async function close(
  transaction: LedgerTransaction,
  { request }: LockedRequest,
  said: Said & { readonly status: 'succeeded' | 'failed' },
): Promise<SettleOutcome> {
  const { by, detail, status } = said;
  const settled = await transaction.moveExecution(request.id, {
    from: 'unknown',
    to: status,
    source: 'settlement',
    by,
    detail,
  });
  if (!settled) throw new Error(`Confirmation ${request.id} changed while it was locked`);
  recordSettled(transaction, request, said, null);
  return { kind: 'settled', request: settled };
}

/** The outcome stays unknown, in the hands of a new request for exactly the same call. */
async function runAgain(
  transaction: LedgerTransaction,
  locked: LockedRequest,
  said: Said,
  ports: RerunPorts,
): Promise<SettleOutcome> {
  const { request } = locked;
  const { by, detail } = said;
  const rerun = rerunOf(locked, await transaction.explanationOf(request.id), ports);
  if (rerun.kind === 'failed') return { kind: 'refused', code: 'policy_error', request, retryAfterMs: null };
  const { facts } = rerun;
  // Handed over before people are asked: a question that can be put to nobody hands it back at once.
  const handed = await transaction.rerun(request.id, { by, reason: detail, confirmation: facts.id });
  if (!handed) throw new Error(`Confirmation ${request.id} changed while it was locked`);
  recordSettled(transaction, request, said, facts.id);
  const asked = await askPeopleInside(transaction, facts, { actor: actorOf(by), people: ports.people });
  if (!asked) throw new Error(`The question to run ${request.id} again could not be stored`);
  return asked.undeliverable ? { kind: 'undeliverable', request } : { kind: 'settled', request: handed };
}

const recordSettled = (
  transaction: LedgerTransaction,
  request: LockedRequest['request'],
  { by, detail, input }: Said,
  supersededBy: string | null,
): void =>
  transaction.record({
    kind: 'outcome.settled',
    ...subjectOf(request),
    actor: actorOf(by),
    data: {
      status: input.status,
      detail,
      person: by.id,
      channel: surfaceName(input.surface),
      argsDigest: request.argsDigest,
      ...(supersededBy === null ? {} : { supersededBy }),
    },
  });
