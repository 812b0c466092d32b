import type { Locale } from '../locale.ts';
import { CARD_WORDS } from './card-words.ts';
import { cutText } from './cut-text.ts';

/** Whether a platform takes this text; has to hold for every shorter start of a text for which it holds. */
export type Fits = (candidate: string) => boolean;

/** `text`, or as much of it as fits together with a mark that says how many units are missing; empty where no mark fits. */
export function cutToFit(text: string, locale: Locale, fits: Fits): string {
  if (fits(text)) return text;
  const { moreCharacters } = CARD_WORDS[locale];
  // The mark is longest where nothing is kept, so room for that one is room for every other.
  const head = longestHead(text, (candidate) => fits(candidate + moreCharacters(text.length)));
  const result = head.text + moreCharacters(head.missing);
  return fits(result) ? result : '';
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
