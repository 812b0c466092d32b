import { cutToFit, shortenToFit } from '../../src/channel/cut-to-fit.ts';
import type { Locale } from '../../src/locale.ts';

/** What the Bot API takes, counted in UTF-16 units as it counts entities, which is never less than characters. */
export const LIMITS = {
  message: 4096,
  /** `answerCallbackQuery`. */
  toast: 200,
  /** Ours: a phone shows no more of a button. */
  buttonText: 40,
  /** Ours: the agent's own words, an outcome and each further argument leave room for what else there is. */
  words: 700,
  line: 300,
  title: 200,
  link: 500,
} as const;

const fits = (limit: number) => (candidate: string) => candidate.length <= limit;

/** `text`, or as much of it as fits together with a mark of what is missing. */
export const cut = (text: string, limit: number, locale: Locale): string =>
  cutToFit(text, locale, fits(limit));

/** `text` shortened where a mark in words would not fit. */
export const cutShort = (text: string, limit: number): string => shortenToFit(text, fits(limit));

export interface LiteralText {
  readonly text: string;
  readonly entities: readonly Readonly<Record<string, unknown>>[];
}

/**
 * `text` as Telegram shows it literally. It makes links and mentions of whatever looks like one even where no markup
 * was asked for, except inside code. `after` is our own: its links work.
 */
export const literal = (text: string, after = ''): LiteralText => ({
  text: text + after,
  entities: text === '' ? [] : [{ type: 'code', offset: 0, length: text.length }],
});
