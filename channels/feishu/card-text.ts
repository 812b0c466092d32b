import { CARD_WORDS, type CardWords } from '../../src/channel/card-words.ts';
import { cutText } from '../../src/channel/cut-text.ts';
import { withoutCutMark } from '../../src/channel/cut-to-fit.ts';
import type { Locale } from '../../src/locale.ts';

/** How a Feishu card says what it adds to a card; everything else comes with the card. */
export interface CardText extends CardWords {
  readonly labelled: (label: string, value: string) => string;
  /** `text`, or its first `maxCharacters` code points and a visible mark of how much is missing. */
  readonly cut: (text: string, maxCharacters: number) => string;
}

export const cardText: Readonly<Record<Locale, CardText>> = {
  'zh-CN': {
    ...CARD_WORDS['zh-CN'],
    labelled: (label, value) => `${label}：${value}`,
    cut: (text, max) => cutAt(text, max, 'zh-CN'),
  },
  'en-US': {
    ...CARD_WORDS['en-US'],
    labelled: (label, value) => `${label}: ${value}`,
    cut: (text, max) => cutAt(text, max, 'en-US'),
  },
};

/** Counts code points, and cuts between characters: half an emoji or half of an escape would hide something again. */
function cutAt(marked: string, maxCharacters: number, locale: Locale): string {
  const { text, missing } = withoutCutMark(marked, locale);
  let characters = 0;
  let kept = text.length;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    if (characters === maxCharacters) kept = at;
    characters += 1;
  }
  if (characters <= maxCharacters) return marked;
  const head = cutText(text, kept).text;
  return head + CARD_WORDS[locale].moreCharacters(missing + characters - [...head].length);
}
