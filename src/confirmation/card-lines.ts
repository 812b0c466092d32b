import type { CardLine } from '../channel/card.ts';
import { cutText } from '../channel/cut-text.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { argumentLabel } from './argument-label.ts';
import type { MaskedArguments } from './argument-mask.ts';
import { argumentText } from './argument-text.ts';
import type { CardTexts } from './card-texts.ts';
import type { DecisiveField } from './confirmation-request.ts';
import { leavesOf, valueAt } from './json-pointer.ts';

export interface CardLines {
  readonly lines: readonly CardLine[];
  /** How many arguments have no line. */
  readonly leftOut: number;
  /** Labels of the lines in which hidden characters were written out. */
  readonly hiddenIn: readonly string[];
  /** Amount, currency or payee that the arguments do not hold: such a card cannot approve. */
  readonly missing: readonly { readonly label: string; readonly pointer: string }[];
  /** Labels of what was masked, in whole or in part. */
  readonly masked: readonly string[];
  /** Labels of decisive lines in which something had to be masked: such a card cannot approve either. */
  readonly decisiveMasked: readonly string[];
}

/** Lines beyond this are counted, not shown; the full request has them. */
const MOST_PLAIN_LINES = 40;
/** Longer values of what does not decide are cut, and say by how much. In UTF-16 units. */
const LONGEST_PLAIN_VALUE = 500;
const LONGEST_PLAIN_LABEL = 120;

/** The arguments, one a line: what decides first and in full, then the rest, each by its name. */
export function cardLines(
  { args, masked }: Pick<MaskedArguments, 'args' | 'masked'>,
  decisiveFields: readonly DecisiveField[],
  texts: CardTexts,
): CardLines {
  const labelOf = (pointer: string) => argumentLabel(pointer, decisiveFields);
  const decisive = decisiveFields.map((field) => decisiveLine({ args, field, labelOf, texts }));
  const rest = [...leavesOf(args)]
    .filter(([pointer]) => pointer !== '' && !decisiveFields.some((field) => covers(field.pointer, pointer)))
    .sort(([left], [right]) => rank(left) - rank(right));
  const plain = rest
    .slice(0, MOST_PLAIN_LINES)
    .map(([pointer, value]) => plainLine({ label: labelOf(pointer), value, texts }));

  const lines = [...decisive, ...plain].map(({ line }) => line);
  if (lines.length === 0) lines.push({ label: '/', value: texts.noArguments, decisive: false });
  return {
    lines,
    leftOut: rest.length - plain.length,
    hiddenIn: [...decisive, ...plain].filter(({ hidden }) => hidden).map(({ line }) => line.label),
    missing: decisive.flatMap(({ missing }) => (missing === null ? [] : [missing])),
    masked: masked.map((pointer) =>
      shortened(visibleText(labelOf(pointer)).text, LONGEST_PLAIN_LABEL, texts),
    ),
    decisiveMasked: decisive
      .filter((_, index) => masked.some((pointer) => covers(decisiveFields[index]?.pointer ?? '', pointer)))
      .map(({ line }) => line.label),
  };
}

function decisiveLine({
  args,
  field: { role, pointer },
  labelOf,
  texts,
}: {
  readonly args: JsonObject;
  readonly field: DecisiveField;
  readonly labelOf: (pointer: string) => string;
  readonly texts: CardTexts;
}) {
  const value = valueAt(args, pointer);
  const label = visibleText(role === 'other' ? labelOf(pointer) : texts.roles[role]);
  const shown = visibleText(value === undefined ? texts.notGiven : argumentText(value));
  const empty = value === undefined || value === null || value === '';
  return {
    line: { label: label.text, value: shown.text, decisive: true } satisfies CardLine,
    hidden: label.changed || shown.changed,
    // An optional field that is absent is shown as absent. Money of which a part is absent cannot be judged here.
    missing: role !== 'other' && empty ? { label: label.text, pointer: visibleText(pointer).text } : null,
  };
}

function plainLine({
  label: name,
  value,
  texts,
}: {
  readonly label: string;
  readonly value: JsonValue;
  readonly texts: CardTexts;
}) {
  const label = visibleText(name);
  const shown = visibleText(argumentText(value));
  return {
    line: {
      label: shortened(label.text, LONGEST_PLAIN_LABEL, texts),
      value: shortened(shown.text, LONGEST_PLAIN_VALUE, texts),
      decisive: false,
    } satisfies CardLine,
    hidden: label.changed || shown.changed,
    missing: null,
  };
}

function shortened(text: string, maxLength: number, texts: CardTexts): string {
  const cut = cutText(text, maxLength);
  return cut.missing === 0 ? text : `${cut.text}${texts.cut(cut.missing)}`;
}

/** A decisive object or array is shown whole, so what lies in it needs no line of its own. */
const covers = (decisive: string, pointer: string): boolean =>
  pointer === decisive || pointer.startsWith(`${decisive}/`);

/** Where nobody said what decides, what usually does still comes first. */
const USUALLY_DECISIVE = ['/amount', '/currency', '/payee'];
const rank = (pointer: string): number => {
  const place = USUALLY_DECISIVE.indexOf(pointer);
  return place < 0 ? USUALLY_DECISIVE.length : place;
};
