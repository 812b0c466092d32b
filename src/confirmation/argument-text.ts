import type { JsonValue } from '../json.ts';
import { maskSecrets } from './secret-shapes.ts';

/**
 * One argument as a person reads it, before hidden characters are written out. A text stands as it is, with exactly
 * its own characters; anything else as JSON. Texts that could be taken for something else (`true`, `null`, `{…`, an
 * empty one, one with spaces at its ends, one that begins with a quote or a bracket) stand in quotes, so that
 * `"true"` and `true`, `""`, `null`, `{}` and `[]` all read differently. A number and a text with the same digits
 * read alike: digits are what a person compares.
 */
export function argumentText(value: JsonValue): string {
  if (typeof value !== 'string') return jsonText(value);
  // Only quotes and backslashes are escaped here; whatever is hidden has to reach the one place that reports it.
  return AMBIGUOUS.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
}

/** Masked arguments keep their names; of those that are shaped like secrets nothing is told. */
function jsonText(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const members = Object.entries(value).map(
    ([key, item]) => `${JSON.stringify(maskSecrets(key))}:${jsonText(item)}`,
  );
  return `{${members.join(',')}}`;
}

const AMBIGUOUS = /^(?:true|false|null)?$|^["'{[(（⟨…]|^\s|\s$/u;
