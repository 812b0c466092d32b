import { cutText } from '../../src/channel/cut-text.ts';
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

/** `text`, or as much of it as fits together with a mark that says how many units are missing; empty where no mark fits. */
export function cut(text: string, limit: number, locale: Locale): string {
  if (text.length <= limit) return text;
  const mark = (missing: number) => MISSING[locale](missing.toLocaleString('en-US'));
  const room = limit - mark(text.length).length;
  if (room < 0) return '';
  const head = cutText(text, room);
  return head.text + mark(head.missing);
}

const MISSING: Readonly<Record<Locale, (count: string) => string>> = {
  'zh-CN': (count) => `…（还有 ${count} 个字符未显示）`,
  'en-US': (count) => `… (${count} more characters not shown)`,
};

/** `text` shortened where a mark in words would not fit. */
export const cutShort = (text: string, limit: number): string =>
  text.length <= limit ? text : `${cutText(text, limit - 1).text}…`;

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
