import { isSafeNumber, parse } from 'lossless-json';
import type { JsonValue } from '../json.ts';

/**
 * The result in a tool's answer: JSON where it is JSON, the text itself otherwise, null where it is empty. A number
 * that a double cannot hold becomes a string of its digits, so that no amount or id changes on the way.
 */
export function parseToolResult(body: string): JsonValue {
  if (body.trim() === '') return null;
  try {
    return parse(body, null, {
      parseNumber: (digits) => (isSafeNumber(digits) ? Number(digits) : digits),
    }) as JsonValue;
  } catch {
    return body;
  }
}

/** A result as the model first sees it: text as it is, everything else as JSON. */
export const resultText = (result: JsonValue): string =>
  typeof result === 'string' ? result : JSON.stringify(result);
