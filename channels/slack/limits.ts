import { cutText } from '../../src/channel/cut-text.ts';
import type { Locale } from '../../src/locale.ts';

/**
 * What Slack takes. Field limits are the ones its Block Kit reference states; they are counted in UTF-16 units
 * after Slack's escaping of `&`, `<` and `>`, which is never less than what Slack itself counts.
 */
export const LIMITS = {
  header: 150,
  section: 3000,
  field: 2000,
  fieldsPerSection: 10,
  blocksPerMessage: 50,
  buttonText: 75,
  buttonValue: 2000,
  buttonUrl: 3000,
  viewTitle: 24,
  viewButton: 24,
  privateMetadata: 3000,
  inputLabel: 2000,
  /** Ours, below Slack's 3000: a reason is read on a phone, and goes back to the model. */
  reason: 1000,
  fallbackText: 500,
  /**
   * All text of one message, in UTF-8 bytes. Slack refuses with `msg_blocks_too_long` somewhere above 11,000
   * characters and does not say how it counts (slackapi/bolt-js issues 2509 and 2867), so we stay well below.
   */
  messageBytes: 8000,
} as const;

/** `text` as Slack's control characters demand it (`&` first). Only for the fallback text, which Slack parses. */
export const escapeControls = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export const lengthOf = (text: string): number => escapeControls(text).length;
export const bytesOf = (text: string): number => Buffer.byteLength(escapeControls(text), 'utf8');
export const fits = (text: string, limit: number): boolean => text.length <= limit && lengthOf(text) <= limit;

/** `text`, or as much of it as fits together with a mark that says how many characters are missing. */
export const cut = (text: string, limit: number, locale: Locale): string =>
  cutTo(text, locale, (candidate) => fits(candidate, limit));

/** The same, counted as the message budget counts. Empty where not even the mark fits. */
export const cutToBytes = (text: string, limit: number, locale: Locale): string =>
  cutTo(text, locale, (candidate) => candidate.length <= limit && bytesOf(candidate) <= limit);

/** `text` shortened for a label of a few characters, where a mark in words would not fit. */
export const cutShort = (text: string, limit: number): string => {
  const fitting = (candidate: string) => fits(candidate, limit);
  return fitting(text) ? text : `${longestHead(text, (head) => fitting(`${head}…`)).text}…`;
};

const MISSING: Readonly<Record<Locale, (count: string) => string>> = {
  'zh-CN': (count) => `…（还有 ${count} 个字符未显示）`,
  'en-US': (count) => `… (${count} more characters not shown)`,
};

function cutTo(text: string, locale: Locale, fitting: (candidate: string) => boolean): string {
  if (fitting(text)) return text;
  const mark = (missing: number) => MISSING[locale](missing.toLocaleString('en-US'));
  // The mark is longest where nothing is kept, so room for that one is room for every other.
  const head = longestHead(text, (candidate) => fitting(candidate + mark(text.length)));
  const result = head.text + mark(head.missing);
  return fitting(result) ? result : '';
}

/** The longest start of `text` that is `fitting`, cut between characters; `fitting` must hold for every shorter one. */
function longestHead(text: string, fitting: (head: string) => boolean): ReturnType<typeof cutText> {
  let low = 0;
  let high = Math.min(text.length, LIMITS.messageBytes);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fitting(text.slice(0, middle))) low = middle;
    else high = middle - 1;
  }
  return cutText(text, low);
}
