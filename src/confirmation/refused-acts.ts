import { assertNever } from '../assert-never.ts';
import type { AuditActor } from '../audit/audit-event.ts';
import type { JsonObject } from '../json.ts';
import { auditActorOf } from './cancel.ts';
import { type ConfirmationRequest, type Surface, surfaceName } from './confirmation-request.ts';
import type {
  Actor,
  CancelInput,
  CancelOutcome,
  ClaimInput,
  ClaimOutcome,
  DecideInput,
  DecideOutcome,
  OutcomeInput,
  OutcomeOutcome,
  RevokeInput,
  RevokeOutcome,
  SettleInput,
  SettleOutcome,
} from './confirmation-service.ts';
import { subjectOf } from './decision-event.ts';
import { digestOf } from './digest.ts';
import type { PersonDirectory } from './person-directory.ts';
import { knownAs, REFUSALS, type RefusableAct, type RefusedAttempt } from './refused-attempt.ts';

/** What an outcome refuses; null for one that counts, for a repetition, and where no such request is. */
interface Refusal {
  readonly code: string;
  readonly request: ConfirmationRequest;
  readonly data?: JsonObject;
}

/** A vote that changed nothing, as an attempt for the record; null for one that counts, or that merely came twice. */
export function refusedVote(
  input: DecideInput,
  outcome: DecideOutcome,
  people: PersonDirectory,
): RefusedAttempt | null {
  const refused = refusalOfVote(input, outcome);
  return (
    refused &&
    byPerson('vote', input, { ...refused, data: { verdict: input.verdict, ...refused.data } }, people)
  );
}

function refusalOfVote(input: DecideInput, outcome: DecideOutcome): Refusal | null {
  switch (outcome.kind) {
    case 'recorded':
    // About no request; the surface knows what else the attempt said.
    case 'not-found':
      return null;
    case 'reason-required':
      return isStillAsked(input.surface) ? null : { code: 'reason_required', request: outcome.request };
    case 'repeated': {
      const { request } = outcome;
      const surface = surfaceName(input.surface);
      const earlier = request.votes.findLast(({ person }) => person.id === input.person)?.channel ?? surface;
      // A double tap tries nothing. A second account of the same person may be meant to count as a second person.
      return earlier === surface ? null : { code: 'voted_elsewhere', request, data: { earlier } };
    }
    case 'already-decided':
      return alreadyDecided(outcome.request);
    case 'expired':
      return { code: 'expired', request: outcome.request };
    case 'refused':
      return outcome;
    default:
      return assertNever(outcome);
  }
}

/** A revocation that was refused; null for every other outcome. */
export function refusedRevocation(
  input: RevokeInput,
  outcome: RevokeOutcome,
  people: PersonDirectory,
): RefusedAttempt | null {
  return outcome.kind === 'refused' ? byPerson('revoke', input, outcome, people) : null;
}

/** A settlement that was refused; null for every other outcome. */
export function refusedSettlement(
  input: SettleInput,
  outcome: SettleOutcome,
  people: PersonDirectory,
): RefusedAttempt | null {
  switch (outcome.kind) {
    case 'refused':
      return byPerson('settle', input, outcome, people);
    case 'detail-required': {
      if (isStillAsked(input.surface)) return null;
      return byPerson('settle', input, { code: 'reason_required', request: outcome.request }, people);
    }
    // What was asked and came to nothing is on the record of both requests.
    case 'undeliverable':
    case 'settled':
    case 'not-found':
      return null;
    default:
      return assertNever(outcome);
  }
}

/** A withdrawal that came too late. Our own runs and sweeps withdraw to tidy up, and try nothing by it. */
export function refusedCancellation(input: CancelInput, outcome: CancelOutcome): RefusedAttempt | null {
  const isOurs = input.actor.type === 'run' || input.actor.type === 'system';
  return outcome.kind === 'already-decided' && !isOurs
    ? byActor('cancel', input.actor, alreadyDecided(outcome.request))
    : null;
}

/** A claim that was refused. Our own run, which asks how long a cool-off takes, attempts nothing by that. */
export function refusedClaim(input: ClaimInput, outcome: ClaimOutcome): RefusedAttempt | null {
  if (outcome.kind !== 'refused') return null;
  const { code, request, detail } = outcome;
  if (code === 'not_yet_executable' && input.actor.type === 'run') return null;
  const argsDigest = digestOf({ ...request, args: input.args });
  return byActor('claim', input.actor, { code, request, data: { detail, argsDigest } });
}

/** An outcome that is not taken: of a grant that was not claimed, of somebody else's, or another one than before. */
export function refusedOutcome(input: OutcomeInput, outcome: OutcomeOutcome): RefusedAttempt | null {
  if (outcome.kind !== 'refused') return null;
  return byActor('outcome', input.actor, { ...outcome, data: { status: input.status } });
}

const alreadyDecided = (request: ConfirmationRequest): Refusal => ({
  code: 'already_decided',
  request,
  data: { status: request.status },
});

/** Nothing was refused yet: the person is asked for what is missing. */
const isStillAsked = (surface: Surface): boolean => surface.kind === 'channel' && surface.canAsk === true;

const byPerson = (
  act: 'vote' | 'revoke' | 'settle',
  { person, surface }: { readonly person: string; readonly surface: Surface },
  refusal: Refusal,
  people: PersonDirectory,
): RefusedAttempt =>
  attempt(
    { type: 'person', id: person, name: people.byId(person)?.name ?? person },
    { act, surface: surfaceName(surface) },
    { ...refusal, data: { person, ...refusal.data } },
  );

const byActor = (act: 'cancel' | 'claim' | 'outcome', actor: Actor, refusal: Refusal): RefusedAttempt =>
  attempt(auditActorOf(actor), { act, surface: actor.type === 'run' ? 'run' : 'api' }, refusal);

function attempt(
  actor: AuditActor,
  { act, surface }: { readonly act: RefusableAct; readonly surface: string },
  { code, request, data }: Refusal,
): RefusedAttempt {
  const { kind, data: which } = REFUSALS[act];
  return {
    event: {
      kind,
      ...subjectOf(request),
      actor,
      data: { code, channel: surface, argsDigest: request.argsDigest, ...which, ...data },
    },
    act,
    code,
    who: knownAs(actor),
    surface,
  };
}
