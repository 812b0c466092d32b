import type { Card, CardFact, CardInLanguage, CardLink, RenderedCard } from '../../src/channel/card.ts';
import { SETTLE_ACTIONS, type TapAction } from '../../src/channel/inbound-event.ts';
import type { JsonObject } from '../../src/json.ts';
import type { Verdict } from '../../src/verdict.ts';
import { reasonRequired } from '../../src/verdict.ts';
import { type CardText, cardText } from './card-text.ts';
import { FROZEN_COLOUR, HEADER_COLOURS } from './header-colours.ts';
import { fitsMessage, MAX_REASON_LENGTH, MAX_REQUEST_BYTES } from './limits.ts';
import { inEveryLanguage } from './translate.ts';

/** The input of the reason form. */
export const REASON_FIELD = 'reason';
/**
 * `approve.<token>.v<version>`, and the same with any other action that words are asked for: submit buttons carry no
 * value, so the delivery's token and the card's version are in the name.
 */
export const SUBMIT_NAME =
  /^(approve|reject|succeeded|failed|run_again)(?:\.([A-Za-z0-9_-]{1,128}))?(?:\.v(\d{1,9}))?$/;

/**
 * Draws a card as Feishu card JSON 2.0, within 30 KB and 200 elements, in every language at once: the person's client
 * picks. What became of it and what is wrong with it come first, then what decides (decisive lines and tool) in full;
 * the rest gives way step by step, visibly, and before any of it gives way the further languages do. Where even that
 * leaves no room for what decides, it is cut too and the card cannot be approved. Every text from outside is
 * `plain_text`: Feishu's markdown would turn it into mentions and links.
 */
export function renderCard(input: {
  readonly card: Card;
  /** The delivery's opaque token, which the buttons carry. */
  readonly token: string;
  /** `oc_…`; counts towards the size of the request. */
  readonly chat: string;
}): RenderedCard {
  const details = mayFitWhole(input.card)
    ? [...DETAILS, ...DETAILS_WITHOUT_DECISIVE]
    : DETAILS_WITHOUT_DECISIVE;
  for (const detail of details) {
    for (const drawn of drawings(input.card, input.token, detail))
      if (fitsMessage(drawn, input.chat))
        return { payload: JSON.stringify(drawn), decisiveShown: detail.decisive === 'whole' };
  }
  throw new Error(`The card of request ${input.card.confirmationId} does not fit a Feishu message`);
}

/** False where what decides is longer than a whole message: nothing is drawn then only to be thrown away. */
const mayFitWhole = (card: Card): boolean =>
  card.lines.reduce((sum, { decisive, value }) => sum + (decisive ? value.length : 0), 0) <=
  MAX_REQUEST_BYTES;

/** How much of a card is drawn; lengths in code points. */
interface Detail {
  readonly decisive: 'whole' | { readonly characters: number; readonly lines: number };
  readonly lines: number;
  readonly lineCharacters: number;
  readonly summaryCharacters: number;
  readonly factCharacters: number;
  readonly facts: number;
  /** The little reference at the end: the first to go for what decides. */
  readonly digest: boolean;
}

const ALL_FACTS = Number.POSITIVE_INFINITY;
const DETAILS: readonly Detail[] = [
  [60, 1500, 1500, 1200],
  [60, 300, 600, 600],
  [30, 100, 300, 300],
  [10, 60, 120, 120],
  [0, 0, 60, 80],
].map(([lines = 0, lineCharacters = 0, summaryCharacters = 0, factCharacters = 0]) => ({
  decisive: 'whole',
  lines,
  lineCharacters,
  summaryCharacters,
  factCharacters,
  facts: ALL_FACTS,
  digest: lines > 0,
}));
const DETAILS_WITHOUT_DECISIVE: readonly Detail[] = [
  { lines: 10, characters: 300, facts: ALL_FACTS },
  { lines: 10, characters: 80, facts: 15 },
  { lines: 3, characters: 20, facts: 10 },
].map(({ lines, characters, facts }) => ({
  decisive: { characters, lines },
  lines: 0,
  lineCharacters: 0,
  summaryCharacters: 40,
  factCharacters: 60,
  facts,
  digest: false,
}));

/** In every language, then in the card's own alone. */
function drawings({ translations, ...card }: Card, token: string, detail: Detail): readonly JsonObject[] {
  const [own, ...others] = [card, ...translations].map((one) => ({
    locale: one.locale,
    drawn: draw(one, token, detail),
  }));
  if (own === undefined) return [];
  const together = inEveryLanguage(own, others);
  return together === null ? [own.drawn] : [together, own.drawn];
}

function draw(card: CardInLanguage, token: string, detail: Detail): JsonObject {
  const text = cardText[card.locale];
  const decisiveShown = detail.decisive === 'whole';
  const body = [
    // Whether it ran.
    ...factElements(card.outcome.slice(0, 1), detail, text, { text_size: 'heading-4' }),
    ...factElements(card.outcome.slice(1), detail, text),
    ...warningElements(card, detail, text),
    ...(card.outcome.length + card.warnings.length > 0 ? [divider()] : []),
    ...decisiveElements(card, detail, text),
    ...argumentElements(card, detail, text),
    divider(),
    ...factElements(card.facts, detail, text),
    ...factElements(card.references, detail, text, SOFT),
    ...summaryElements(card, detail, text),
    ...actionElements(card, token, decisiveShown),
    linkButton({ label: card.linkLabel, url: card.link }),
    ...(card.followedLink === null ? [] : [linkButton(card.followedLink)]),
    ...(detail.digest && card.digest !== null ? factElements([card.digest], detail, text, SOFT) : []),
  ];
  return {
    schema: '2.0',
    config: {
      // Needed before and after a change through the API.
      update_multi: true,
      // A forwarded copy is never brought to its final state, and must not decide.
      enable_forward: false,
      enable_forward_interaction: false,
      width_mode: 'default',
    },
    header: {
      template: card.frozen ? FROZEN_COLOUR : HEADER_COLOURS[card.state],
      title: plainText(text.cut(card.title, 200)),
      text_tag_list: [{ tag: 'text_tag', text: plainText(card.verificationCode), color: 'neutral' }],
    },
    body: { elements: body },
  };
}

/** More than the core ever has for one card. */
const MOST_WARNINGS = 12;

function warningElements({ warnings }: CardInLanguage, { decisive }: Detail, text: CardText): JsonObject[] {
  const characters = decisive === 'whole' ? 300 : 120;
  const shown = warnings.slice(0, MOST_WARNINGS);
  return [
    ...shown.map((warning) => line(text.cut(warning, characters), { text_color: 'red' })),
    ...restMark(warnings.length - shown.length, text),
  ];
}

const LARGE = { text_size: 'heading-2' };
const GREY = { text_color: 'grey' };
const SOFT = { text_size: 'notation', text_color: 'grey' };

function decisiveElements(card: CardInLanguage, { decisive }: Detail, text: CardText): JsonObject[] {
  const lines: CardFact[] = card.lines.filter((candidate) => candidate.decisive);
  const tool = { label: text.tool, value: card.tool };
  // Large where there is something to decide; a card that is only read back must not look as if there were.
  const style = card.actions.kind === 'none' ? {} : LARGE;
  if (decisive === 'whole')
    return [
      ...lines.map(({ label, value }) => line(text.labelled(label, value), style)),
      line(text.labelled(tool.label, tool.value)),
    ];
  lines.push(tool);
  const shown = lines.slice(0, decisive.lines);
  return [
    line(text.notApprovableHere, { text_color: 'red' }),
    ...shown.map(({ label, value }) =>
      line(text.labelled(text.cut(label, decisive.characters), text.cut(value, decisive.characters)), LARGE),
    ),
    ...restMark(lines.length - shown.length, text),
  ];
}

function argumentElements(card: CardInLanguage, detail: Detail, text: CardText): JsonObject[] {
  const lines = card.lines.filter(({ decisive }) => !decisive);
  const shown = lines.slice(0, detail.lines);
  return [
    ...shown.map(({ label, value }) =>
      // The same in every language, so that no value has to stand there twice.
      line(`${text.cut(label, 100)}: ${text.cut(value, detail.lineCharacters)}`),
    ),
    ...restMark(lines.length - shown.length + card.linesLeftOut, text),
  ];
}

const factElements = (
  facts: readonly CardFact[],
  detail: Detail,
  text: CardText,
  style: JsonObject = {},
): JsonObject[] =>
  facts
    .slice(0, detail.facts)
    .map(({ label, value }) => line(text.labelled(label, text.cut(value, detail.factCharacters)), style));

/** Label and words apart, so that the words stand there once for every language. */
function summaryElements({ summary }: CardInLanguage, detail: Detail, text: CardText): JsonObject[] {
  if (summary === null) return [];
  return [line(summary.label, SOFT), line(text.cut(summary.value, detail.summaryCharacters), GREY)];
}

const restMark = (count: number, text: CardText): JsonObject[] =>
  count > 0 ? [line(text.moreLines(count), GREY)] : [];

/**
 * A verdict that needs no reason is a plain button, where one tap decides. Those that need one share a form with one
 * input. The input is not `required`: an empty reason is answered by our own toast, on every client alike.
 */
function actionElements(card: CardInLanguage, token: string, decisiveShown: boolean): JsonObject[] {
  const { actions } = card;
  if (actions.kind === 'none') return [];
  if (actions.kind === 'revoke') return [revokeButton(card.confirmationId, token, actions.label)];
  if (actions.kind === 'settle') return settleForm(card, actions.labels, token);
  const approvable = actions.approvable && decisiveShown;
  const offered: readonly Verdict[] = approvable ? ['approve', 'reject'] : ['reject'];
  const button = (verdict: Verdict): JsonObject => ({
    tag: 'button',
    type: verdict === 'approve' ? 'primary_filled' : 'danger',
    width: 'fill',
    text: plainText(actions.labels[verdict]),
  });
  const carried = { request: card.confirmationId, delivery: token, version: card.version };
  const plain = offered
    .filter((verdict) => !reasonRequired(actions.reason, verdict))
    .map((verdict) => ({
      ...button(verdict),
      behaviors: [{ type: 'callback', value: { action: verdict, ...carried } }],
    }));
  const submits = offered
    .filter((verdict) => reasonRequired(actions.reason, verdict))
    .map((verdict) => ({
      ...button(verdict),
      name: `${verdict}.${token}.v${card.version}`,
      form_action_type: 'submit',
    }));
  return [...plain, ...reasonForm(actions.labels.reason, submits)];
}

/** Who says what became of it has to say how they know, so all of it is one form. */
function settleForm(card: CardInLanguage, labels: SettleLabels, token: string): JsonObject[] {
  const submits = SETTLE_ACTIONS.flatMap((action) => {
    const label = labels[action];
    if (label === null) return [];
    return {
      tag: 'button',
      type: 'default',
      text: plainText(label),
      name: `${action}.${token}.v${card.version}`,
      form_action_type: 'submit',
    };
  });
  return reasonForm(labels.detail, submits);
}

type SettleLabels = Extract<Card['actions'], { kind: 'settle' }>['labels'];

const revokeButton = (request: string, token: string, label: string): JsonObject => ({
  tag: 'button',
  type: 'danger_filled',
  width: 'fill',
  text: plainText(label),
  behaviors: callback('revoke', request, token),
});

const callback = (action: TapAction, request: string, token: string): JsonObject[] => [
  { type: 'callback', value: { action, request, delivery: token } },
];

function reasonForm(label: string, submits: readonly JsonObject[]): JsonObject[] {
  if (submits.length === 0) return [];
  const input = {
    tag: 'input',
    name: REASON_FIELD,
    label: plainText(label),
    label_position: 'top',
    input_type: 'multiline_text',
    rows: 2,
    max_length: MAX_REASON_LENGTH,
    width: 'fill',
  };
  return [{ tag: 'form', name: 'reason_form', elements: [input, ...submits] }];
}

const linkButton = ({ label, url }: CardLink): JsonObject => ({
  tag: 'button',
  type: 'text',
  text: plainText(label),
  behaviors: [{ type: 'open_url', default_url: url }],
});

const divider = (): JsonObject => ({ tag: 'hr' });

const plainText = (content: string): JsonObject => ({ tag: 'plain_text', content });

const line = (content: string, style: JsonObject = {}): JsonObject => ({
  tag: 'div',
  text: { ...plainText(content), ...style },
});
