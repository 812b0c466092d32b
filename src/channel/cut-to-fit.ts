import type { Locale } from '../locale.ts';
import { CARD_WORDS } from './card-words.ts';
import { cutText } from './cut-text.ts';

/** Whether a platform takes this text; has to hold for every shorter start of a text for which it holds. */
export type Fits = (candidate: string) => boolean;

/**
 * `text`, or as much of it as fits together with a mark that says how many units are missing, those that were cut off
 * before included; empty where no mark fits.
 */
export function cutToFit(text: string, locale: Locale, fits: Fits): string {
  if (fits(text)) return text;
  const { moreCharacters } = CARD_WORDS[locale];
  const whole = withoutCutMark(text, locale);
  // The mark is longest where nothing is kept, so room for that one is room for every other.
  const longestMark = moreCharacters(whole.text.length + whole.missing);
  const head = longestHead(whole.text, (candidate) => fits(candidate + longestMark));
  const result = head.text + moreCharacters(head.missing + whole.missing);
  return fits(result) ? result : '';
}

/** `text` without the mark of an earlier cut, and how many units that one left out: two marks would hide the first count. */
export function withoutCutMark(
  text: string,
  locale: Locale,
): { readonly text: string; readonly missing: number } {
  const mark = CARD_WORDS[locale].cutBefore.exec(text);
  if (mark === null) return { text, missing: 0 };
  return { text: text.slice(0, mark.index), missing: Number(mark[1]?.replaceAll(',', '')) };
}

/** `text` shortened for a label of a few characters, where a mark in words would not fit. */
export const shortenToFit = (text: string, fits: Fits): string =>
  fits(text) ? text : `${longestHead(text, (head) => fits(`${head}…`)).text}…`;

/** The longest start of `text` that fits, cut between two characters as a reader counts them. */
function longestHead(text: string, fits: Fits): ReturnType<typeof cutText> {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(text.slice(0, middle))) low = middle;
    else high = middle - 1;
  }
  return cutText(text, low);
}
