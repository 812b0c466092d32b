import type { Card, CardFact, CardLink, RenderedCard } from '../../src/channel/card.ts';
import { CARD_WORDS, type CardWords } from '../../src/channel/card-words.ts';
import { factLine } from '../../src/channel/fact-line.ts';
import { SETTLE_ACTIONS } from '../../src/channel/inbound-event.ts';
import { onOneLine } from '../../src/channel/one-line.ts';
import { stateIcon } from '../../src/channel/state-icon.ts';
import type { Locale } from '../../src/locale.ts';
import { bytesOf, cut, cutShort, cutToBytes, escapeControls, fits, LIMITS } from './limits.ts';
import { ACTION_ID, buttonValue } from './wire.ts';

/**
 * A card as Slack's blocks, in the order a person reads on a phone: what state it is in, what decides (large), what
 * became of it, the facts, the agent's own words and further arguments, the buttons. All text stands in `plain_text`
 * or preformatted elements, which Slack takes literally: nothing in it can mention, link, format or become an emoji.
 */
export function renderCard(card: Card, token: string): RenderedCard {
  const words = CARD_WORDS[card.locale];
  const space = messageSpace(card.locale);
  // What decides gets its room first; the rest shares what is left.
  const { blocks: decisive, allShown } = decisiveBlocks(card, words, space);
  const title = space.take(`${stateIcon(card)} ${onOneLine(card.title)}`, LIMITS.header);
  const outcome = space.take(linesOf(card.outcome, 1200, card.locale), LIMITS.section);
  const mayApprove = card.actions.kind === 'decide' && card.actions.approvable && allShown;
  const hint = card.actions.kind === 'decide' && !allShown ? [words.notApprovableHere] : [];
  const warnings = space.take(warningText([...hint, ...card.warnings], card.locale), LIMITS.section);
  const facts = factBlocks([...card.facts, ...card.references], space, card.locale);
  const summary = space.take(card.summary === null ? '' : factLine(card.summary), 1200);
  const digest = space.takeWhole(card.digest === null ? '' : factLine(card.digest));
  const blocks = [
    header(title),
    ...section(outcome),
    ...section(warnings),
    ...decisive,
    ...facts,
    ...section(summary),
    ...preformatted(otherLines(card, words, space)),
    ...buttons(card, token, mayApprove),
    ...context(digest),
  ];
  const text = escapeControls(cut(onOneLine(card.title), LIMITS.fallbackText, card.locale));
  return { payload: JSON.stringify({ text, blocks }), decisiveShown: allShown };
}

/** Of a message's bytes: what is left beyond these is kept for the headline and the facts. */
const DECISIVE_BYTES = 4500;
/** For the beginnings of all those that find no room as a whole. */
const BEGINNINGS_BYTES = 1000;
const WARNING_BYTES = 1200;
const DECISIVE_BLOCKS = 30;

/**
 * Each decisive line whole, in a block of its own, or not at all. Large where it fits a header and there is something
 * to decide; a card that is only read back must not look as if there were.
 */
function decisiveBlocks(card: Card, words: CardWords, space: MessageSpace) {
  const lines = [
    ...card.lines.filter((line) => line.decisive),
    // Which tool runs decides as much as its arguments.
    { label: words.tool, value: card.tool, decisive: true },
  ];
  const blocks: SlackBlock[] = [];
  let bytes = 0;
  let beginningsLeft = BEGINNINGS_BYTES;
  let withoutRoom = 0;
  let allShown = true;
  for (const line of lines) {
    const text = factLine(line);
    bytes += bytesOf(text);
    if (blocks.length < DECISIVE_BLOCKS && bytes <= DECISIVE_BYTES && fits(text, LIMITS.section)) {
      const large = card.actions.kind !== 'none' && line.label !== words.tool && fits(text, LIMITS.header);
      blocks.push(...(large ? [header(text)] : section(text)));
      space.reserve(text);
    } else {
      allShown = false;
      bytes -= bytesOf(text);
      const full = blocks.length === DECISIVE_BLOCKS;
      const beginning = full ? '' : space.takeBytes(cut(text, LIMITS.header, card.locale), beginningsLeft);
      beginningsLeft -= bytesOf(beginning);
      if (beginning === '') withoutRoom += 1;
      blocks.push(...section(beginning));
    }
  }
  if (withoutRoom > 0) blocks.push(...section(space.take(words.moreLines(withoutRoom), LIMITS.header)));
  return { blocks, allShown };
}

/** All of them; where they are long together each has its share, so that no long one hides another. */
function warningText(warnings: readonly string[], locale: Locale): string {
  const lines = warnings.map((warning) => `⚠️ ${onOneLine(warning)}`);
  if (bytesOf(lines.join('\n')) <= WARNING_BYTES) return lines.join('\n');
  const share = Math.floor(WARNING_BYTES / lines.length) - 1;
  return lines.map((line) => cutToBytes(line, share, locale)).join('\n');
}

/** In UTF-16 units: a fact that is longer would be a tall, narrow column on a phone. */
const LONGEST_FIELD = 80;
/** A message has room for 50 blocks. */
const MOST_WIDE_FACTS = 4;

/** Two beside each other; a long one has the whole width. */
function factBlocks(facts: readonly CardFact[], space: MessageSpace, locale: Locale): SlackBlock[] {
  const blocks: SlackBlock[] = [];
  let fields: SlackBlock[] = [];
  let wide = 0;
  const endFields = () => {
    if (fields.length > 0) blocks.push({ type: 'section', fields });
    fields = [];
  };
  for (const { label, value } of facts.slice(0, 2 * LIMITS.fieldsPerSection)) {
    const isLong = value.length > LONGEST_FIELD && wide < MOST_WIDE_FACTS;
    const shown = { label: onOneLine(label), value: cut(onOneLine(value), 250, locale) };
    const text = space.take(isLong ? factLine(shown) : `${shown.label}\n${shown.value}`, LIMITS.field);
    if (text === '') continue;
    if (isLong) {
      endFields();
      blocks.push(...section(text));
      wide += 1;
    } else {
      fields.push(plainText(text));
      if (fields.length === LIMITS.fieldsPerSection) endFields();
    }
  }
  endFields();
  return blocks;
}

/** Further arguments, one on each line; long values are cut first, so that one of them cannot hide the others. */
function otherLines({ lines, linesLeftOut, locale }: Card, words: CardWords, space: MessageSpace): string {
  const all = lines.filter((line) => !line.decisive);
  const kept: string[] = [];
  const limit = Math.min(LIMITS.section, space.left()) - 100;
  let bytes = 0;
  for (const line of all) {
    const text = cut(factLine(line), 400, locale);
    bytes += bytesOf(text) + 1;
    if (bytes > limit) break;
    kept.push(text);
  }
  const missing = all.length - kept.length + linesLeftOut;
  return [...kept, ...(missing > 0 ? [words.moreLines(missing)] : [])].join('\n');
}

function buttons(card: Card, token: string, mayApprove: boolean): SlackBlock[] {
  const value = buttonValue(card.confirmationId, token, card.version);
  const elements: SlackBlock[] = [];
  if (card.actions.kind === 'decide') {
    const { labels } = card.actions;
    if (mayApprove) elements.push(button(ACTION_ID.approve, labels.approve, { style: 'primary', value }));
    elements.push(button(ACTION_ID.reject, labels.reject, { style: 'danger', value }));
  }
  if (card.actions.kind === 'revoke') {
    elements.push(button(ACTION_ID.revoke, card.actions.label, { style: 'danger', value }));
  }
  if (card.actions.kind === 'settle') {
    for (const action of SETTLE_ACTIONS) {
      const label = card.actions.labels[action];
      if (label !== null) elements.push(button(ACTION_ID[action], label, { value }));
    }
  }
  elements.push(...linkButton(ACTION_ID.open, { label: card.linkLabel, url: card.link }));
  if (card.followedLink !== null) elements.push(...linkButton(ACTION_ID.open_followed, card.followedLink));
  return elements.length === 0 ? [] : [{ type: 'actions', block_id: 'countersign.actions', elements }];
}

const linkButton = (actionId: string, { label, url }: CardLink): SlackBlock[] =>
  url.length <= LIMITS.buttonUrl ? [button(actionId, label, { url })] : [];

type SlackBlock = Readonly<Record<string, unknown>>;

// `emoji: false`: `:moneybag:` stays the text that it is.
const plainText = (text: string): SlackBlock => ({ type: 'plain_text', text, emoji: false });
const header = (text: string): SlackBlock => ({ type: 'header', text: plainText(text) });
const section = (text: string): SlackBlock[] =>
  text === '' ? [] : [{ type: 'section', text: plainText(text) }];
const context = (text: string): SlackBlock[] =>
  text === '' ? [] : [{ type: 'context', elements: [plainText(text)] }];
const preformatted = (text: string): SlackBlock[] =>
  text === ''
    ? []
    : [
        {
          type: 'rich_text',
          elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text }] }],
        },
      ];
const button = (actionId: string, label: string, rest: SlackBlock): SlackBlock => ({
  type: 'button',
  action_id: actionId,
  text: plainText(cutShort(label, LIMITS.buttonText)),
  ...rest,
});

const linesOf = (facts: readonly CardFact[], valueLimit: number, locale: Locale): string =>
  facts.map((fact) => cut(factLine(fact), valueLimit, locale)).join('\n');

type MessageSpace = ReturnType<typeof messageSpace>;

/** The bytes of text that one message has left; each piece of text is cut to its own limit and to that. */
function messageSpace(locale: Locale) {
  let left: number = LIMITS.messageBytes;
  return {
    left: () => left,
    reserve(text: string): void {
      left -= bytesOf(text);
    },
    take(text: string, limit: number): string {
      return this.takeBytes(cut(text, limit, locale), LIMITS.messageBytes);
    },
    /** Empty where it finds no room as a whole. */
    takeWhole(text: string): string {
      return bytesOf(text) <= left ? this.takeBytes(text, left) : '';
    },
    takeBytes(text: string, limit: number): string {
      const fitting = cutToBytes(text, Math.max(0, Math.min(limit, left)), locale);
      left -= bytesOf(fitting);
      return fitting;
    },
  };
}
