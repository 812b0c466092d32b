import type { JsonValue } from '../json.ts';

/**
 * One argument as a person reads it, before hidden characters are written out. A text stands as it is, with exactly
 * its own characters; anything else as JSON. Texts that could be taken for something else (`true`, `null`, `{…`, an
 * empty one, one with spaces at its ends, one that begins with a quote or a bracket) stand in quotes, so that
 * `"true"` and `true`, `""`, `null`, `{}` and `[]` all read differently. A number and a text with the same digits
 * read alike: digits are what a person compares.
 */
export function argumentText(value: JsonValue): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  // Only quotes and backslashes are escaped here; whatever is hidden has to reach the one place that reports it.
  return AMBIGUOUS.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
}

const AMBIGUOUS = /^(?:true|false|null)?$|^["'{[(（⟨…]|^\s|\s$/u;
