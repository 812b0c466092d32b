import { assertNever } from '../assert-never.ts';
import type { JsonObject } from '../json.ts';
import { type ConfirmationRequest, surfaceName } from './confirmation-request.ts';
import type {
  DecideInput,
  DecideOutcome,
  RevokeInput,
  RevokeOutcome,
  SettleInput,
  SettleOutcome,
} from './confirmation-service.ts';
import { subjectOf } from './decision-event.ts';
import type { PersonDirectory } from './person-directory.ts';
import { knownAs, type RefusedAttempt } from './refused-attempt.ts';

/** A vote that changed nothing, as an attempt for the record; null for one that counts, or that merely came twice. */
export function refusedVote(
  input: DecideInput,
  outcome: DecideOutcome,
  people: PersonDirectory,
): RefusedAttempt | null {
  const refused = refusalOf(input, outcome);
  if (refused === null) return null;
  const { code, request, data } = refused;
  const surface = surfaceName(input.surface);
  return attempt(
    { act: 'vote', code, surface, person: input.person, request, data: { verdict: input.verdict, ...data } },
    people,
  );
}

function refusalOf(
  input: DecideInput,
  outcome: DecideOutcome,
): { readonly code: string; readonly request: ConfirmationRequest; readonly data?: JsonObject } | null {
  switch (outcome.kind) {
    case 'recorded':
    // The surface asks for it: the person has not said all yet.
    case 'reason-required':
    // About no request; the surface knows what else the attempt said.
    case 'not-found':
      return null;
    case 'repeated': {
      const { request } = outcome;
      const surface = surfaceName(input.surface);
      const earlier = request.votes.findLast(({ person }) => person.id === input.person)?.channel ?? surface;
      // A double tap tries nothing. A second account of the same person may be meant to count as a second person.
      return earlier === surface ? null : { code: 'voted_elsewhere', request, data: { earlier } };
    }
    case 'already-decided':
      return { code: 'already_decided', request: outcome.request, data: { status: outcome.request.status } };
    case 'expired':
      return { code: 'expired', request: outcome.request };
    case 'refused':
      return { code: outcome.code, request: outcome.request };
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
  if (outcome.kind !== 'refused') return null;
  const { code, request } = outcome;
  const surface = surfaceName(input.surface);
  return attempt({ act: 'revoke', code, surface, person: input.person, request, data: {} }, people);
}

/** A settlement that was refused; null for every other outcome. */
export function refusedSettlement(
  input: SettleInput,
  outcome: SettleOutcome,
  people: PersonDirectory,
): RefusedAttempt | null {
  if (outcome.kind !== 'refused') return null;
  const { code, request } = outcome;
  const surface = surfaceName(input.surface);
  return attempt({ act: 'settle', code, surface, person: input.person, request, data: {} }, people);
}

function attempt(
  tried: Pick<RefusedAttempt, 'act' | 'code' | 'surface'> & {
    readonly person: string;
    readonly request: ConfirmationRequest;
    readonly data: JsonObject;
  },
  people: PersonDirectory,
): RefusedAttempt {
  const { act, code, surface, person, request, data } = tried;
  const actor = { type: 'person', id: person, name: people.byId(person)?.name ?? person } as const;
  const common = { code, person, channel: surface, argsDigest: request.argsDigest };
  return {
    event: {
      ...(act === 'vote'
        ? { kind: 'vote.refused', data: { ...common, ...data } }
        : { kind: 'grant.refused', data: { ...common, detail: act } }),
      ...subjectOf(request),
      actor,
    },
    act,
    code,
    who: knownAs(actor),
    surface,
  };
}
