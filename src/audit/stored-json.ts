import { Decimal } from 'decimal.js';
import type { JsonObject } from '../json.ts';

/** Strings are matched first, so that digits inside them are passed over. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Reads the text of a JSONB object. Null where it is no object, or holds a number that a double would round: JSONB keeps
 * any number of digits, so a value changed far behind the point would otherwise look as before.
 */
export function parseStoredJson(text: string): JsonObject | null {
  for (const [token] of text.matchAll(STRING_OR_NUMBER)) {
    if (!token.startsWith('"') && !new Exact(token).equals(Number(token))) return null;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}

/** Never rounds while it reads or compares; far beyond any exponent that a double has. */
const Exact = Decimal.clone({ precision: 1_000, maxE: 1e6, minE: -1e6 });
