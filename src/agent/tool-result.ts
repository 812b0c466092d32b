import { isSafeNumber, parse } from 'lossless-json';
import type { JsonValue } from '../json.ts';

/** Deeper than any honest answer, and far from what everything that walks down into one can bear. */
const DEEPEST_RESULT = 256;

/**
 * The result in a tool's answer: JSON where it is JSON, the text itself otherwise or where it is nested too deeply, null
 * where it is empty. A number that a double cannot hold becomes a string of its digits, so that no amount or id changes
 * on the way.
 */
export function parseToolResult(body: string): JsonValue {
  if (body.trim() === '') return null;
  try {
    const result = parse(body, null, {
      parseNumber: (digits) => (isSafeNumber(digits) ? Number(digits) : digits),
    }) as JsonValue;
    return isTooDeep(result) ? body : result;
  } catch {
    return body;
  }
}

/** Level by level, since what walks down into it by itself would not come back. */
export function isTooDeep(result: unknown): boolean {
  let level: readonly unknown[] = [result];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST_RESULT) return true;
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}

/** A result as the model first sees it: text as it is, everything else as JSON. */
export const resultText = (result: JsonValue): string =>
  typeof result === 'string' ? result : JSON.stringify(result);
