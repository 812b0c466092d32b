import type { JsonObject } from '../json.ts';
import { escapedStep, pointerAt } from './pointer-at.ts';
import { numberAt, scanJson } from './scan-json.ts';

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

/**
 * Most values in one text, objects and arrays included. No person reads that many; without the limit a body of
 * nothing but zeros kept the process from everything else for more than a second.
 */
export const MAX_JSON_VALUES = 5_000;

/**
 * Reads a JSON object without losing anything. Refused, so that no two readers can see different arguments: broken
 * JSON, duplicate keys, numbers that a double would change, lone surrogates, NUL, the key `__proto__`, nesting over
 * `maxDepth`, and more than `MAX_JSON_VALUES` values. Never throws.
 */
export function parseJson(text: string, options: { readonly maxDepth: number }): ParsedJson {
  const structure = scanJson(text, { depth: options.maxDepth, values: MAX_JSON_VALUES });
  if (structure.depth > options.maxDepth) {
    return refuseArguments(`it is nested more than ${options.maxDepth} levels deep`);
  }
  if (structure.values > MAX_JSON_VALUES) {
    return refuseArguments(`it holds more than ${MAX_JSON_VALUES} values`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const what = error instanceof SyntaxError ? error.message : 'it cannot be read';
    return refuseJson(`Not valid JSON: ${what.slice(0, 200)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuseJson('Expected a JSON object at the top.');
  }
  const found = inspect(value);
  if (found.fault !== null) return refuseArguments(found.fault.sentence(found.fault.pointer));
  // The parser keeps the last of a repeated key; the count of members shows it.
  if (found.members !== structure.members) return refuseJson('A key appears twice in one object.');
  if (structure.lossyNumberAt !== null) {
    const number = numberAt(text, structure.lossyNumberAt);
    const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number;
    const pointer = pointerAt(text, structure.lossyNumberAt);
    return refuseArguments(
      `${pointer} is ${shown}, which loses digits as a JSON number; send it as a string`,
    );
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

interface Fault {
  readonly pointer: string;
  readonly sentence: (pointer: string) => string;
}

interface Inspection {
  readonly members: number;
  readonly fault: Fault | null;
}

const NOTHING_WRONG: Inspection = { members: 0, fault: null };

/** What JSON allows and we cannot keep. Pointers are put together on the way back from a fault alone. */
function inspect(value: unknown): Inspection {
  if (typeof value === 'string') {
    const fault = faultOfString(value);
    return fault === null ? NOTHING_WRONG : failed((pointer) => `${pointer} ${fault}`);
  }
  if (typeof value !== 'object' || value === null) return NOTHING_WRONG;
  const isArray = Array.isArray(value);
  let members = 0;
  for (const [key, member] of Object.entries(value)) {
    const { fault, members: inner } = isArray ? inspect(member) : inspectMember(key, member);
    if (fault !== null)
      return { members, fault: { ...fault, pointer: `/${escapedStep(key)}${fault.pointer}` } };
    members += inner;
  }
  return { members, fault: null };
}

function inspectMember(key: string, member: unknown): Inspection {
  if (key === '__proto__') return failed((pointer) => `${pointer} is a name that cannot be used`);
  const fault = faultOfString(key);
  if (fault !== null) return failed((pointer) => `the name ${JSON.stringify(pointer)} ${fault}`);
  const inner = inspect(member);
  return { members: inner.members + 1, fault: inner.fault };
}

const failed = (sentence: Fault['sentence']): Inspection => ({
  members: 0,
  fault: { pointer: '', sentence },
});

function faultOfString(text: string): string | null {
  if (!text.isWellFormed()) return 'holds half of a surrogate pair; send well-formed Unicode';
  if (text.includes('\u0000')) return 'holds a NUL character; leave it out';
  return null;
}

const refuseJson = (message: string): ParsedJson => ({ kind: 'refused', code: 'invalid_json', message });

const refuseArguments = (what: string): ParsedJson => ({
  kind: 'refused',
  code: 'invalid_arguments',
  message: `The arguments cannot be accepted: ${what}.`,
});
