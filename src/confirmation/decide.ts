import { attendInside } from './attend.ts';
import type { Reach } from './card-places.ts';
import { type ConfirmationRequest, surfaceName } from './confirmation-request.ts';
import type { DecideInput, DecideOutcome } from './confirmation-service.ts';
import { DeadlinePassed } from './deadline-passed.ts';
import { decided } from './decision-event.ts';
import { expireInside } from './expire.ts';
import type { ConfirmationLedger, LedgerTransaction } from './ledger.ts';
import type { PersonDirectory } from './person-directory.ts';
import { type WeighedVote, weighVote } from './weigh-vote.ts';

/**
 * How long decisions that are made together wait for a card or a parked run: one that is held must not hold up the
 * others, and two that hold many may each want a run of the other's. Far less than what the lanes take for a database
 * that does not answer, so that each is decided on its own then, and far more than a commit takes.
 */
const TOGETHER_LOCK_WAIT_MS = 200;

export interface DecidePorts {
  readonly ledger: ConfirmationLedger;
  readonly people: PersonDirectory;
  readonly reach: Reach;
}

/**
 * Lets one person decide one request: locks it, reads the clock, weighs the vote and casts it with its audit events,
 * in one transaction. Waits for whoever holds the request.
 *
 * Nothing here turns a fault into a decision: a throw rolls everything back, and the surface says "not recorded".
 */
export async function decide(input: DecideInput, ports: DecidePorts): Promise<DecideOutcome> {
  try {
    return await ports.ledger.transact((transaction) => decideInside(input, transaction, ports));
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
    // The deadline came between the lock and the guarded update. The vote was rolled back with everything else.
    return ports.ledger.transact((transaction) => decideInside(input, transaction, ports));
  }
}

/**
 * Lets people decide requests, each another one, in one transaction: what many votes at once cost is mostly what one
 * does. Requests that somebody else holds, that are late, or that time has changed, are left to be decided on their
 * own, with nothing changed. A throw rolls all of them back; so does a card or a run that is held for long.
 */
export async function decideTogether(
  inputs: readonly DecideInput[],
  {
    ledger,
    people,
    onBegun,
  }: Pick<DecidePorts, 'ledger' | 'people'> & {
    /** Told once the transaction has its connection. */
    readonly onBegun?: () => void;
  },
): Promise<readonly (DecideOutcome | null)[]> {
  const decideAll = async (transaction: LedgerTransaction) => {
    onBegun?.();
    const locked = await transaction.lockFree(inputs.map(({ id }) => id));
    const weighed = new Map(
      inputs.map((input): [DecideInput, WeighedVote | null] => {
        const own = locked.find(({ request }) => request.id === input.id);
        // What runs another request's call again may, once closed, change that one too.
        return [input, own && own.request.supersedes === null ? weighVote(input, own, people) : null];
      }),
    );
    const counting = [...weighed.values()].filter((vote) => vote?.kind === 'counts');
    const cast = counting.length === 0 ? [] : await transaction.castVotes(counting.map((vote) => vote.cast));
    return inputs.map((input) => {
      const vote = weighed.get(input);
      if (vote?.kind === 'answered') return vote.outcome;
      const after = cast.find(({ id }) => id === input.id);
      return vote?.kind === 'counts' && after ? recordVote(vote, { after, input, transaction }) : null;
    });
  };
  return ledger.transact(decideAll, { lockWaitMs: TOGETHER_LOCK_WAIT_MS });
}

async function decideInside(
  input: DecideInput,
  transaction: LedgerTransaction,
  { people, reach }: DecidePorts,
): Promise<DecideOutcome> {
  const locked = await transaction.lock(input.id);
  if (!locked) return { kind: 'not-found' };
  let weighed = weighVote(input, locked, people);
  if (weighed.kind === 'late')
    return { kind: 'expired', request: await expireInside(transaction, locked.request.id) };
  if (weighed.kind === 'due') {
    const attended = await attendInside(transaction, locked.request, locked.now, reach);
    if (attended === null) throw new DeadlinePassed(locked.request.id);
    weighed = weighVote(input, { ...locked, request: attended }, people);
  }
  if (weighed.kind === 'answered') return weighed.outcome;
  if (weighed.kind !== 'counts') throw new Error(`Confirmation ${input.id} still waits for what was done`);
  const [after] = await transaction.castVotes([weighed.cast]);
  if (!after) throw new DeadlinePassed(input.id);
  return recordVote(weighed, { after, input, transaction });
}

/** The vote and the decision that came of it, each with its event. */
function recordVote(
  { event }: Extract<WeighedVote, { readonly kind: 'counts' }>,
  {
    after,
    input,
    transaction,
  }: {
    readonly after: ConfirmationRequest;
    readonly input: DecideInput;
    readonly transaction: LedgerTransaction;
  },
): DecideOutcome {
  transaction.record(event);
  const closed = after.status !== 'pending';
  if (closed) transaction.record(decided(after, surfaceName(input.surface)));
  return { kind: 'recorded', request: after, closed };
}
