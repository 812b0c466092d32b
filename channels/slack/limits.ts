import { cutToFit, shortenToFit } from '../../src/channel/cut-to-fit.ts';
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
  cutToFit(text, locale, (candidate) => fits(candidate, limit));

/** The same, counted as the message budget counts. Empty where not even the mark fits. */
export const cutToBytes = (text: string, limit: number, locale: Locale): string =>
  cutToFit(text, locale, (candidate) => candidate.length <= limit && bytesOf(candidate) <= limit);

/** `text` shortened for a label of a few characters, where a mark in words would not fit. */
export const cutShort = (text: string, limit: number): string =>
  shortenToFit(text, (candidate) => fits(candidate, limit));
