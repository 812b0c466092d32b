import { assertNever } from '../../src/assert-never.ts';
import type { Card, RenderedCard } from '../../src/channel/card.ts';
import { CARD_WORDS, type CardWords } from '../../src/channel/card-words.ts';
import { factLine } from '../../src/channel/fact-line.ts';
import { SETTLE_ACTIONS, type TapAction } from '../../src/channel/inbound-event.ts';
import { onOneLine } from '../../src/channel/one-line.ts';
import { stateIcon } from '../../src/channel/state-icon.ts';
import type { Locale } from '../../src/locale.ts';
import { cut, cutShort, LIMITS, literal } from './limits.ts';
import { writeButtonData } from './wire.ts';

/**
 * A card as one Telegram message: the state, what decides, what became of it, warnings, the facts, the agent's own
 * words, further arguments, the digest, the pages' addresses. One line each. There is no markup in it; all but the
 * addresses is marked as literal.
 */
export function renderCard(card: Card, token: string): RenderedCard {
  const words = CARD_WORDS[card.locale];
  const links = [addressLine('', card.link), followedLine(card)].join('');
  // What decides gets its room first; the rest shares what is left.
  const space = messageSpace(LIMITS.message - links.length, card.locale);
  const decisive = decisiveLines(card, words, space);
  const mayApprove = card.actions.kind === 'decide' && card.actions.approvable && decisive.allShown;
  const title = space.take(`${stateIcon(card)} ${card.title}`, LIMITS.title);
  const warnings = [
    ...(card.actions.kind === 'decide' && !decisive.allShown ? [words.notApprovableHere] : []),
    ...card.warnings,
  ].map((warning) => space.take(`⚠️ ${warning}`, LIMITS.line));
  const outcome = card.outcome.map((fact) => space.take(factLine(fact), LIMITS.words));
  const facts = [...card.facts, ...card.references].map((fact) => space.take(factLine(fact), LIMITS.line));
  const summary = card.summary === null ? '' : space.take(factLine(card.summary), LIMITS.words);
  const digest = card.digest === null ? '' : space.takeWhole(factLine(card.digest));
  const others = otherLines(card, words, space);
  const lines = [title, ...decisive.lines, ...outcome, ...warnings, ...facts, summary, ...others, digest];
  const body = lines.filter((line) => line !== '').join('\n');
  return {
    payload: JSON.stringify({ ...literal(body, links), buttons: buttonsOf(card, token, mayApprove) }),
    decisiveShown: decisive.allShown,
  };
}

const addressLine = (label: string, url: string): string =>
  url.length <= LIMITS.link ? `\n${label}${url}` : '';

const followedLine = ({ followedLink }: Card): string =>
  followedLink === null ? '' : addressLine(`${onOneLine(followedLink.label)}: `, followedLink.url);

/** What decides may take so much; headline, facts and warnings always have the rest. */
const DECISIVE_LENGTH = 1800;
/** Kept free for the line that says how many are missing. */
const MORE_LINES_LENGTH = 60;

/** Each decisive line whole, or only its beginning and no approval. */
function decisiveLines(card: Card, words: CardWords, space: MessageSpace) {
  const lines: string[] = [];
  let left = DECISIVE_LENGTH;
  let allShown = true;
  // Which tool runs decides as much as its arguments.
  for (const line of [
    ...card.lines.filter(({ decisive }) => decisive),
    { label: words.tool, value: card.tool },
  ]) {
    const whole = factLine(line);
    const shown = space.take(whole, Math.min(left, whole.length <= left ? whole.length : LIMITS.line));
    if (shown !== whole) allShown = false;
    left -= shown.length;
    lines.push(shown);
  }
  return { lines, allShown };
}

/** Long values are cut first, so that one of them cannot hide the others. */
function otherLines(card: Card, words: CardWords, space: MessageSpace): readonly string[] {
  const all = card.lines.filter(({ decisive }) => !decisive).map(factLine);
  const kept: string[] = [];
  for (const line of all) {
    const text = cut(line, LIMITS.line, card.locale);
    if (text.length + MORE_LINES_LENGTH > space.left()) break;
    kept.push(space.take(text, LIMITS.line));
  }
  const missing = all.length - kept.length + card.linesLeftOut;
  return missing === 0 ? kept : [...kept, space.take(words.moreLines(missing), MORE_LINES_LENGTH)];
}

interface CardButton {
  readonly text: string;
  readonly callback_data: string;
}

function buttonsOf(card: Card, token: string, mayApprove: boolean): readonly CardButton[] {
  const button = (action: TapAction, label: string): CardButton => ({
    text: cutShort(onOneLine(label), LIMITS.buttonText),
    callback_data: writeButtonData({ action, token, cardVersion: card.version }),
  });
  const { actions } = card;
  switch (actions.kind) {
    case 'none':
      return [];
    case 'decide':
      return [
        ...(mayApprove ? [button('approve', actions.labels.approve)] : []),
        button('reject', actions.labels.reject),
      ];
    case 'revoke':
      return [button('revoke', actions.label)];
    case 'settle':
      return SETTLE_ACTIONS.flatMap((action) => {
        const label = actions.labels[action];
        return label === null ? [] : [button(action, label)];
      });
    default:
      return assertNever(actions);
  }
}

type MessageSpace = ReturnType<typeof messageSpace>;

/** What one message has left, line breaks counted; each line is cut to its own limit and to that. */
function messageSpace(length: number, locale: Locale) {
  let left = length;
  return {
    left: () => left,
    /** Empty where it finds no room as a whole. */
    takeWhole(text: string): string {
      return text.length < left ? this.take(text, text.length) : '';
    },
    take(text: string, limit: number): string {
      const fitting = cut(onOneLine(text), Math.max(0, Math.min(limit, left - 1)), locale);
      left -= fitting.length + 1;
      return fitting;
    },
  };
}
