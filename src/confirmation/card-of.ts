import type { Card, CardActions, CardState } from '../channel/card.ts';
import type { CardView } from '../channel/card-source.ts';
import { cutText } from '../channel/cut-text.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { JsonObject } from '../json.ts';
import type { Locale } from '../locale.ts';
import { type ArgumentMask, MASK_BY_SHAPE, maskArguments } from './argument-mask.ts';
import { argumentText } from './argument-text.ts';
import { cardFacts, cardOutcome, freezeWarning } from './card-facts.ts';
import { cardLines } from './card-lines.ts';
import { CARD_TEXTS, type CardTexts } from './card-texts.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { Freeze } from './freeze.ts';
import { valueAt } from './json-pointer.ts';
import { requestLink } from './request-link.ts';

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
  const {
    request,
    freeze,
    locale,
    timeZone,
    publicUrl,
    mask = MASK_BY_SHAPE,
    view = 'whole',
    moved = false,
  } = input;
  const texts = CARD_TEXTS[locale];
  const shown = maskArguments(request.args, request.decisiveFields, mask);
  const { lines, hiddenIn, missing, masked, decisiveMasked } = cardLines(
    shown,
    request.decisiveFields,
    texts,
  );
  const summary = request.summary === null ? null : visibleText(shown.maskText(request.summary));
  const card: Card = {
    confirmationId: request.id,
    version: request.version,
    locale,
    state: cardStateOf(request),
    title: titleOf(request, shown.args, freeze, texts),
    tool: visibleText(request.tool).text,
    lines,
    warnings: [
      ...(freeze === null ? [] : [freezeWarning(freeze, { texts, timeZone })]),
      ...missing.map(({ label, pointer }) => texts.warnings.decisiveMissing(label, pointer)),
      ...(decisiveMasked.length > 0 ? [texts.warnings.decisiveMasked(decisiveMasked)] : []),
      ...(masked.length > 0 ? [texts.warnings.masked(namedFew(masked, texts))] : []),
      ...(hiddenIn.length > 0 ? [texts.warnings.hidden(hiddenIn)] : []),
      ...(request.requesterNamedByAgent
        ? [texts.warnings.requesterNamedByAgent(visibleText(request.requester.name).text)]
        : []),
    ],
    summary: summary === null ? null : texts.agentSays(shortened(summary.text, texts)),
    facts: cardFacts(request, { texts, timeZone }),
    outcome: cardOutcome(request, { texts, timeZone }),
    verificationCode: request.verificationCode,
    link: requestLink(publicUrl, request.id),
    linkLabel: texts.link,
    actions: actionsOf(request, missing.length + decisiveMasked.length === 0, texts),
  };
  return moved ? movedCard(restricted(view, texts, card), texts) : restricted(view, texts, card);
}

const MOST_NAMED = 5;

function namedFew(labels: readonly string[], texts: CardTexts): string {
  const more = labels.length - MOST_NAMED;
  return [...labels.slice(0, MOST_NAMED), ...(more > 0 ? [texts.moreArguments(more)] : [])].join(', ');
}

/** What stays of a card in a message that nobody can act on any more. */
const movedCard = (card: Card, texts: CardTexts): Card => ({
  ...card,
  title: `${texts.moved} · ${card.title}`,
  lines: card.lines.filter(({ decisive }) => decisive),
  warnings: [texts.warnings.moved],
  summary: null,
  actions: { kind: 'none' },
});

/** The same card with less on it: other people's words are what platforms refuse. What is left out is said. */
function restricted(view: CardView, texts: CardTexts, card: Card): Card {
  if (view === 'whole') return card;
  const ownWords = new Set([
    texts.facts.session,
    texts.outcome.reason,
    texts.outcome.detail,
    texts.outcome.revokeReason,
  ]);
  const kept = {
    ...card,
    summary: null,
    facts: card.facts.filter(({ label }) => !ownWords.has(label)),
    outcome: card.outcome.filter(({ label }) => !ownWords.has(label)),
  };
  const { actions } = card;
  if (view === 'decisive-only') {
    const lines = card.lines.filter(({ decisive }) => decisive);
    return { ...kept, lines, warnings: [texts.warnings.redacted, ...card.warnings] };
  }
  return {
    ...kept,
    title: [texts.states[card.state], card.tool].join(' · '),
    lines: [],
    warnings: [texts.warnings.withheld],
    actions: actions.kind === 'decide' ? { ...actions, approvable: false } : actions,
  };
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
  return { kind: 'decide', reason: request.policy.reason, approvable, labels: texts.actions };
}

/**
 * Phones show little more than this line, so it says how much, where that is plainly an amount. Payees and other
 * free text stay out of it: they could be made to read like a state.
 */
function titleOf(
  request: ConfirmationRequest,
  args: JsonObject,
  freeze: Freeze | null,
  texts: CardTexts,
): string {
  const superseded = request.status === 'cancelled' && request.decision.code === 'superseded';
  const state = superseded ? texts.superseded : texts.states[cardStateOf(request)];
  const amount = plainDecisive(request, args, 'amount', PLAIN_AMOUNT);
  const currency = plainDecisive(request, args, 'currency', PLAIN_CURRENCY);
  const tool = cutText(visibleText(request.tool).text, LONGEST_TITLE_TOOL);
  const toolName = tool.missing > 0 ? `${tool.text}…` : tool.text;
  return [
    freeze === null ? null : texts.frozen,
    state,
    amount === null ? null : [amount, currency].filter(Boolean).join(' '),
    toolName,
  ]
    .filter((part) => part !== null)
    .join(' · ');
}

const LONGEST_TITLE_TOOL = 60;
const PLAIN_AMOUNT = /^-?\d[\d.,]{0,23}$/;
const PLAIN_CURRENCY = /^[A-Z]{3,5}$/;

function plainDecisive(
  request: ConfirmationRequest,
  args: JsonObject,
  role: 'amount' | 'currency',
  plain: RegExp,
): string | null {
  const field = request.decisiveFields.find((candidate) => candidate.role === role);
  const value = field && valueAt(args, field.pointer);
  if (value === undefined || value === null || typeof value === 'object') return null;
  const text = argumentText(value);
  return plain.test(text) ? text : null;
}

function shortened(text: string, texts: CardTexts): string {
  const cut = cutText(text, LONGEST_SUMMARY);
  return cut.missing === 0 ? text : `${cut.text}${texts.cut(cut.missing)}`;
}
