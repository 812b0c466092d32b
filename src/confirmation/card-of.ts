import type { Card, CardActions, CardInLanguage, CardState } from '../channel/card.ts';
import type { CardView } from '../channel/card-source.ts';
import { cutText } from '../channel/cut-text.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { JsonObject } from '../json.ts';
import { LOCALES, type Locale } from '../locale.ts';
import { approvalsOf } from './approvals.ts';
import { type ArgumentMask, MASK_BY_SHAPE, maskArguments } from './argument-mask.ts';
import { callName } from './call-name.ts';
import { cardFacts, cardOutcome, cardReferences, freezeWarning } from './card-facts.ts';
import { cardLines } from './card-lines.ts';
import { CARD_TEXTS, type CardTexts } from './card-texts.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import { followedWordsOf } from './followed-fact.ts';
import type { Freeze } from './freeze.ts';
import { requestLink } from './request-link.ts';
import { movedCard, restrictedCard } from './restricted-card.ts';
import { isRerunAsked, rerunWarning, settleActions } from './unknown-facts.ts';
import { UNKNOWN_TEXTS } from './unknown-texts.ts';

export interface CardOfInput {
  readonly request: ConfirmationRequest;
  /** The freeze that keeps it from running, where there is one (`freezeOf`). */
  readonly freeze: Freeze | null;
  readonly locale: Locale;
  /** IANA name, for deadlines and times. */
  readonly timeZone: string;
  /** Base of the link to the full request, without a trailing slash. */
  readonly publicUrl: string;
  /** Which arguments are not shown; by default those that are secret by name or shape. */
  readonly mask?: ArgumentMask;
  /** How much of it the platform takes; by default all of it. */
  readonly view?: CardView;
  /** Whether another message takes its place. */
  readonly moved?: boolean;
}

/** In UTF-16 units; the agent's words do not decide, so they are cut, and the cut is seen. */
const LONGEST_SUMMARY = 1_000;

/**
 * The one picture of a request that every channel draws. Pure: the same version of a request, under the same freeze,
 * gives the same card, whenever and wherever it is drawn, so a card can be sent again and compared by digest.
 */
export function cardOf(input: CardOfInput): Card {
  const others = LOCALES.filter((locale) => locale !== input.locale);
  return {
    ...cardInLanguage(input),
    translations: others.map((locale) => cardInLanguage({ ...input, locale })),
  };
}

function cardInLanguage(input: CardOfInput): CardInLanguage {
  const { view = 'whole', moved = false } = input;
  const texts = CARD_TEXTS[input.locale];
  const card = restrictedCard(wholeCard(input), view, texts);
  return moved ? movedCard(card, texts) : card;
}

function wholeCard(input: CardOfInput): CardInLanguage {
  const { request, freeze, locale, timeZone, publicUrl, mask = MASK_BY_SHAPE, view = 'whole' } = input;
  const texts = CARD_TEXTS[locale];
  const style = { texts, locale, timeZone };
  const shown = maskArguments(request.args, request.decisiveFields, mask);
  const { lines, leftOut, hiddenIn, missing, masked, decisiveMasked } = cardLines(
    shown,
    request.decisiveFields,
    texts,
  );
  const summary = request.summary === null ? null : visibleText(shown.maskText(request.summary));
  const approvable = missing.length + decisiveMasked.length === 0;
  // Where the card's own words of people go, those of the request before do not stay either.
  const followedWords = view === 'whole' && !input.moved ? followedWordsOf(request) : 'none';
  return {
    confirmationId: request.id,
    version: request.version,
    locale,
    state: cardStateOf(request),
    frozen: freeze !== null,
    title: titleOf(request, shown.args, freeze, { texts, locale }),
    tool: visibleText(request.tool).text,
    lines,
    linesLeftOut: leftOut,
    warnings: [
      ...(freeze === null ? [] : [freezeWarning(freeze, style)]),
      ...[rerunWarning(request, locale)].filter((warning) => warning !== null),
      ...missing.map(({ label, pointer }) => texts.warnings.decisiveMissing(label, pointer)),
      ...(decisiveMasked.length > 0 ? [texts.warnings.decisiveMasked(namedFew(decisiveMasked, texts))] : []),
      ...(masked.length > 0 ? [texts.warnings.masked(namedFew(masked, texts))] : []),
      ...(hiddenIn.length > 0 ? [texts.warnings.hidden(namedFew(hiddenIn, texts))] : []),
      ...(request.requesterNamedByAgent
        ? [texts.warnings.requesterNamedByAgent(visibleText(request.requester.name).text)]
        : []),
    ],
    summary: summary && { label: texts.agentSays, value: quotedSummary(summary.text, texts) },
    facts: cardFacts(request, style, followedWords),
    references: cardReferences(request, style, shown),
    outcome: cardOutcome(request, style),
    verificationCode: request.verificationCode,
    digest:
      masked.length + decisiveMasked.length === 0
        ? { label: texts.facts.digest, value: shortDigest(request.argsDigest) }
        : null,
    link: requestLink(publicUrl, request.id),
    linkLabel: texts.link,
    followedLink: request.follows && {
      label: texts.followedLink,
      url: requestLink(publicUrl, request.follows.id),
    },
    actions: settleActions(request, locale) ?? actionsOf(request, approvable, texts),
  };
}

/** Short enough for one line on a phone; the whole stands on the request page. */
const shortDigest = (digest: string): string => `${digest.slice(0, 'sha256:'.length + 12)}…`;

const MOST_NAMED = 5;

function namedFew(labels: readonly string[], texts: CardTexts): string {
  const more = labels.length - MOST_NAMED;
  return [...labels.slice(0, MOST_NAMED), ...(more > 0 ? [texts.moreArguments(more)] : [])].join(', ');
}

/** An approval reads as what became of it; everything else as its own status. */
export function cardStateOf(request: ConfirmationRequest): CardState {
  if (request.status !== 'approved') return request.status;
  const { status } = request.execution;
  if (status === 'unclaimed') return request.execution.coolingOff ? 'cooling-off' : 'approved';
  return status === 'claimed' ? 'executing' : status;
}

function actionsOf(request: ConfirmationRequest, approvable: boolean, texts: CardTexts): CardActions {
  if (cardStateOf(request) === 'cooling-off') return { kind: 'revoke', label: texts.revoke };
  if (request.status !== 'pending') return { kind: 'none' };
  const { reason } = request.policy;
  const labels = { ...texts.actions, reason: texts.reasonLabels[reason] };
  return { kind: 'decide', reason, approvable, labels };
}

/** Phones show little more than this line, so it says how much. */
function titleOf(
  request: ConfirmationRequest,
  args: JsonObject,
  freeze: Freeze | null,
  { texts, locale }: { readonly texts: CardTexts; readonly locale: Locale },
): string {
  const superseded = request.status === 'cancelled' && request.decision.code === 'superseded';
  const rerun = isRerunAsked(request) ? UNKNOWN_TEXTS[locale].rerunAsked : null;
  const state = superseded ? texts.superseded : (rerun ?? texts.states[cardStateOf(request)]);
  const { quorum } = request.policy;
  const pendingQuorum = request.status === 'pending' && quorum > 1;
  const { amount, tool } = callName(request, args);
  return [
    freeze === null ? null : texts.frozen,
    pendingQuorum ? texts.counted(state, approvalsOf(request).length, quorum) : state,
    amount,
    tool,
  ]
    .filter((part) => part !== null)
    .join(' · ');
}

function quotedSummary(text: string, texts: CardTexts): string {
  const cut = cutText(text, LONGEST_SUMMARY);
  return cut.missing === 0 ? `“${text}”` : `“${cut.text}”${texts.cut(cut.missing)}`;
}
