import { assertNever } from '../assert-never.ts';
import type { CardFact } from '../channel/card.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { Locale } from '../locale.ts';
import { approvalsOf, approvingVotesOf } from './approvals.ts';
import type { MaskedArguments } from './argument-mask.ts';
import type { CardTexts } from './card-texts.ts';
import type {
  ClosedConfirmationRequest,
  ConfirmationRequest,
  Execution,
  PersonRef,
} from './confirmation-request.ts';
import { type FollowedWords, followsFact } from './followed-fact.ts';
import type { Freeze } from './freeze.ts';
import { ownReasonText } from './own-reason.ts';
import { quoted } from './quoted.ts';
import { deputiesOf, escalatedSeatsOf } from './seats.ts';
import { predecessorFact, successorFact, unknownFacts } from './unknown-facts.ts';
import type { Vote } from './vote.ts';
import { zonedTime } from './zoned-time.ts';

export interface FactStyle {
  readonly texts: CardTexts;
  readonly locale: Locale;
  readonly timeZone: string;
}

const fact = (label: string, value: string): CardFact => ({ label, value });

/** For whom and by whom it is asked, how far it is, until when: the same in every state. */
export function cardFacts(
  request: ConfirmationRequest,
  { texts, locale, timeZone }: FactStyle,
  followedWords: FollowedWords,
): readonly CardFact[] {
  return [
    ...followsFact(request, { texts, timeZone, words: followedWords }),
    fact(texts.facts.requester, `${nameOf(request.requester)} (${visibleText(request.requester.id).text})`),
    fact(texts.facts.agent, visibleText(request.agent).text),
    fact(texts.facts.votes, votesOf(request, texts)),
    ...seatFacts(request, { texts, locale, timeZone }),
    fact(texts.facts.deadline, zonedTime(request.decideBy, timeZone)),
  ];
}

/** Under which rule, and by what the request is found again. The session's name is the agent's, who may repeat secrets. */
export function cardReferences(
  request: ConfirmationRequest,
  { texts, locale }: Pick<FactStyle, 'texts' | 'locale'>,
  { maskText }: Pick<MaskedArguments, 'maskText'>,
): readonly CardFact[] {
  return [
    fact(texts.facts.policy, visibleText(request.policy.id).text),
    fact(texts.facts.code, request.verificationCode),
    ...predecessorFact(request, locale),
    ...(request.runId === null ? [] : [fact(texts.facts.run, request.runId)]),
    ...(request.session === null
      ? []
      : [fact(texts.facts.session, quoted(maskText(request.session), texts))]),
  ];
}

/** Whether it ran, who closed it, why and when; nothing while it is pending. */
export function cardOutcome(request: ConfirmationRequest, style: FactStyle): readonly CardFact[] {
  if (request.status === 'pending') return [];
  const { texts, timeZone } = style;
  const { decision } = request;
  return [
    ...executionOf(request, style),
    ...unknownFacts(request, { locale: style.locale, timeZone }),
    ...successorFact(request, style.locale),
    resultOf(request, texts),
    ...reasonFact(texts.outcome.reason, request, decision, style),
    fact(texts.outcome.at, zonedTime(decision.at, timeZone)),
  ];
}

/** A person's words as theirs; a code of ours as what it means, with what to do. */
function reasonFact(
  label: string,
  request: ClosedConfirmationRequest,
  said: { readonly by: PersonRef | null; readonly reason: string | null },
  { texts, locale }: FactStyle,
): readonly CardFact[] {
  if (said.reason === null) return [];
  return [fact(label, ownReasonText(request, said, locale) ?? quoted(said.reason, texts))];
}

function resultOf(request: ClosedConfirmationRequest, texts: CardTexts): CardFact {
  const { outcome, results } = texts;
  const by = request.decision.by;
  switch (request.status) {
    case 'approved':
      return { label: outcome.approvedBy, value: approversOf(request, texts) };
    case 'rejected':
      return { label: outcome.rejectedBy, value: by === null ? '—' : nameOf(by) };
    case 'cancelled':
      if (request.decision.code === 'superseded') return { label: outcome.result, value: results.superseded };
      if (by !== null) return { label: outcome.cancelledBy, value: nameOf(by) };
      return { label: outcome.result, value: results.cancelledByNobody };
    case 'expired':
      return {
        label: outcome.result,
        value: results.expired(approvalsOf(request).length, request.policy.quorum),
      };
    case 'undeliverable':
      return { label: outcome.result, value: results.undeliverable };
    default:
      return assertNever(request);
  }
}

const approversOf = (request: ConfirmationRequest, texts: CardTexts): string =>
  texts.names(approvingVotesOf(request).map((vote) => voterOf(vote, texts)));

function executionOf(request: ClosedConfirmationRequest, style: FactStyle): readonly CardFact[] {
  const { texts, timeZone } = style;
  const label = texts.outcome.execution;
  if (request.status !== 'approved') return [{ label, value: texts.execution.notAllowed }];
  const { execution } = request;
  const facts: CardFact[] = [{ label, value: executionText(execution, texts, timeZone) }];
  if (execution.status === 'revoked') return [...facts, ...revocationFacts(request, execution, style)];
  facts.push(...limitsOf(execution, style));
  const detail = 'detail' in execution ? execution.detail : null;
  if ('settledBy' in execution && execution.settledBy !== null)
    facts.push({ label: texts.outcome.settledBy, value: nameOf(execution.settledBy) });
  if (detail) facts.push({ label: texts.outcome.detail, value: quoted(detail, texts) });
  return facts;
}

/** Between which times it may run, or might have. */
function limitsOf(execution: Execution, { texts, timeZone }: FactStyle): readonly CardFact[] {
  const runBy = fact(texts.outcome.runBy, zonedTime(execution.executeBy, timeZone));
  if (execution.status === 'lapsed') return [runBy];
  if (execution.status !== 'unclaimed') return [];
  const { coolingOff, executableFrom } = execution;
  return coolingOff
    ? [fact(texts.outcome.coolingOffUntil, zonedTime(executableFrom, timeZone)), runBy]
    : [runBy];
}

/** Who took the approval back, when and why; the code of it is what the sentence above says. */
function revocationFacts(
  request: ClosedConfirmationRequest,
  revoked: Extract<Execution, { status: 'revoked' }>,
  style: FactStyle,
): readonly CardFact[] {
  const { texts, timeZone } = style;
  const { by, at } = revoked;
  const time = zonedTime(at, timeZone);
  return [
    ...(by === null ? [] : [{ label: texts.outcome.revokedBy, value: `${nameOf(by)}, ${time}` }]),
    ...reasonFact(texts.outcome.revokeReason, request, revoked, style),
  ];
}

/** What a card says while a freeze keeps its call from running. */
export const freezeWarning = (freeze: Freeze, { texts, timeZone }: FactStyle): string =>
  texts.warnings.frozen(
    quoted(freeze.reason, texts),
    nameOf(freeze.startedBy),
    zonedTime(freeze.startedAt, timeZone),
  );

/** What has become of an approved call, in one sentence without its full stop. */
export function executionText(execution: Execution, texts: CardTexts, timeZone: string): string {
  const time = (at: Date) => zonedTime(at, timeZone);
  switch (execution.status) {
    case 'unclaimed':
      return execution.coolingOff ? texts.execution.coolingOff : texts.execution.unclaimed;
    case 'claimed':
      return texts.execution.claimed(time(execution.at));
    case 'succeeded':
    case 'failed':
      return texts.execution[execution.status](time(execution.at), texts.sources[execution.source]);
    case 'unknown':
      return `${texts.execution.unknown}${texts.sources[execution.source]}`;
    case 'lapsed':
      return texts.execution.lapsed;
    case 'revoked':
      return texts.execution.revoked(texts.revocations[execution.detail]);
    default:
      return assertNever(execution);
  }
}

const nameOf = (person: PersonRef): string => visibleText(person.name).text;

function votesOf(request: ConfirmationRequest, texts: CardTexts): string {
  const approvals = approvingVotesOf(request);
  return texts.votes(
    approvals.length,
    request.policy.quorum,
    approvals.map((vote) => `${voterOf(vote, texts)} ✓`),
  );
}

/** Delegates vote in their own name, for somebody. */
const voterOf = ({ person, seat }: Vote, texts: CardTexts): string =>
  person.id === seat.id ? nameOf(person) : texts.standsIn(nameOf(person), nameOf(seat));

/** Who was added since the request was made, and why: seats never come or go unseen. */
function seatFacts(request: ConfirmationRequest, { texts, timeZone }: FactStyle): readonly CardFact[] {
  const facts: CardFact[] = [];
  const deputies = deputiesOf(request);
  if (deputies.length > 0) {
    const value = texts.names(
      deputies.map(({ person, holder, until }) => {
        const words = texts.standsIn(nameOf(person), nameOf(holder));
        return until === null ? words : texts.until(words, zonedTime(until, timeZone));
      }),
    );
    facts.push({ label: texts.facts.delegates, value });
  }
  if (request.escalatedAt !== null) {
    const names = texts.names(escalatedSeatsOf(request).map(nameOf));
    facts.push({
      label: texts.facts.escalated,
      value: texts.since(names, zonedTime(request.escalatedAt, timeZone)),
    });
  }
  return facts;
}
