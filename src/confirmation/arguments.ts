import { Decimal } from 'decimal.js';
import { parse } from 'lossless-json';
import type { JsonObject } from '../json.ts';

/** What `parseJson` made of a text: an object whose every value survives, or why it was refused. */
export type ParsedJson =
  | { readonly kind: 'parsed'; readonly value: JsonObject }
  | {
      readonly kind: 'refused';
      /** `invalid_json`: not JSON, or ambiguous. `invalid_arguments`: JSON that cannot be kept as it is. */
      readonly code: 'invalid_json' | 'invalid_arguments';
      readonly message: string;
    };

/** Deepest nesting of arguments, and their largest size in bytes of UTF-8 (CONTRACT: 64 levels, 256 KiB). */
export const MAX_ARGUMENTS_DEPTH = 64;
export const MAX_ARGUMENTS_BYTES = 256 * 1024;

/** Longer digit strings are refused unread: nothing a double can hold needs them. */
const LONGEST_NUMBER = 400;

/**
 * Reads a JSON object without losing anything. Refused, so that no two readers can see different arguments: broken
 * JSON, duplicate keys, numbers that a double would change, lone surrogates, NUL, the key `__proto__`, and nesting
 * over `maxDepth`. Never throws.
 */
export function parseJson(text: string, options: { readonly maxDepth: number }): ParsedJson {
  const structure = scanStructure(text);
  if (structure.depth > options.maxDepth) {
    return refuseArguments(`it is nested ${structure.depth} levels deep; the limit is ${options.maxDepth}`);
  }
  let value: unknown;
  try {
    value = parse(text, undefined, { parseNumber: readNumber });
  } catch (error) {
    const what = error instanceof SyntaxError ? error.message : 'it cannot be read';
    return { kind: 'refused', code: 'invalid_json', message: `Not valid JSON: ${what.slice(0, 200)}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'refused', code: 'invalid_json', message: 'Expected a JSON object at the top.' };
  }
  const found = inspect(value, '');
  if (found.fault !== null) return refuseArguments(found.fault);
  // The parser lets a repeated key pass when both values are equal; the count of members shows it.
  if (found.members !== structure.members) {
    return { kind: 'refused', code: 'invalid_json', message: 'A key appears twice in one object.' };
  }
  return { kind: 'parsed', value: value as JsonObject };
}

/** `parseJson` with the limits of a tool call's arguments. */
export function parseArguments(text: string): ParsedJson {
  const size = Buffer.byteLength(text);
  if (size > MAX_ARGUMENTS_BYTES) {
    return refuseArguments(`they are ${size} bytes; the limit is ${MAX_ARGUMENTS_BYTES}`);
  }
  return parseJson(text, { maxDepth: MAX_ARGUMENTS_DEPTH });
}

/**
 * Checks arguments that are already values (a hook rewrote them, a plan was given). Returns null, or what is wrong.
 */
export function faultOfArguments(args: JsonObject): string | null {
  const text = JSON.stringify(args);
  const parsed = parseArguments(text);
  return parsed.kind === 'parsed' ? null : parsed.message;
}

/** A number whose digits a double would change; kept apart until its place in the text is known. */
class UnsafeNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function readNumber(text: string): number | UnsafeNumber {
  const value = Number(text);
  if (!Number.isFinite(value) || text.length > LONGEST_NUMBER) return new UnsafeNumber(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return new UnsafeNumber(text);
  return new Decimal(text).equals(new Decimal(String(value))) ? value : new UnsafeNumber(text);
}

interface Inspection {
  readonly members: number;
  readonly fault: string | null;
}

function inspect(value: unknown, pointer: string): Inspection {
  if (value instanceof UnsafeNumber) {
    const shown = value.text.length > 40 ? `${value.text.slice(0, 40)}…` : value.text;
    return {
      members: 0,
      fault: `${pointer} is ${shown}, which loses digits as a JSON number; send it as a string`,
    };
  }
  if (typeof value === 'string') return { members: 0, fault: faultOfString(value, pointer) };
  if (typeof value !== 'object' || value === null) return { members: 0, fault: null };
  let members = 0;
  for (const [key, member] of Object.entries(value)) {
    const here = `${pointer}/${key.slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (key === '__proto__') return { members, fault: `${here} is a name that cannot be used` };
    const keyFault = faultOfString(key, `the name ${JSON.stringify(here)}`);
    if (keyFault !== null) return { members, fault: keyFault };
    const inner = inspect(member, here);
    if (inner.fault !== null) return inner;
    members += inner.members + (Array.isArray(value) ? 0 : 1);
  }
  return { members, fault: null };
}

function faultOfString(text: string, where: string): string | null {
  if (!text.isWellFormed()) return `${where} holds half of a surrogate pair; send well-formed Unicode`;
  if (text.includes('\u0000')) return `${where} holds a NUL character; leave it out`;
  return null;
}

/** Depth and number of object members, by one pass over the text that cannot overflow a stack. */
function scanStructure(text: string): { readonly depth: number; readonly members: number } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index += 1;
      else if (character === '"') inString = false;
      continue;
    }
    if (character === '"') inString = true;
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth);
    else if (character === '}' || character === ']') depth -= 1;
    else if (character === ':') members += 1;
  }
  return { depth: deepest, members };
}

const refuseArguments = (what: string): ParsedJson => ({
  kind: 'refused',
  code: 'invalid_arguments',
  message: `The arguments cannot be accepted: ${what}.`,
});
