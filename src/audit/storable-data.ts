import type { JsonObject, JsonValue } from '../json.ts';

/** Longest string kept whole, in UTF-16 code units. */
const LONGEST_STRING = 8_000;
const DEEPEST_LEVEL = 16;
/** All strings and keys of one event together, in code units; what is beyond is left out. */
const LARGEST_EVENT = 100_000;
const MOST_VALUES = 5_000;

/** What a JSONB value cannot hold: NUL, and halves of a surrogate pair on their own. */
const UNSTORABLE = /\0|\p{Surrogate}/gu;

/**
 * `data` in a form that the database stores and gives back unchanged, and that cannot grow without bound: what cannot
 * be stored is spelt out (`\u0000`), what is too much is cut or left out, and both can be seen in the record. An event
 * is never refused for its data: that would let a caller keep an act off the record.
 */
export function storableData(data: JsonObject): JsonObject {
  return storableObject(data, 1, { characters: LARGEST_EVENT, values: MOST_VALUES });
}

/** Makes a name or id storable, as a string within `data` is. */
export function storableText(text: string, longest: number = LONGEST_STRING): string {
  const kept = text.length > longest ? cutAtCodePoint(text, longest) : text;
  const missing = text.length - kept.length;
  const spelt = kept.replace(UNSTORABLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return missing > 0 ? `${spelt}… (${missing} more characters)` : spelt;
}

interface Budget {
  characters: number;
  values: number;
}

function storableValue(value: JsonValue | undefined, level: number, budget: Budget): JsonValue {
  budget.values -= 1;
  if (typeof value === 'string') {
    const text = storableText(value, Math.max(0, Math.min(LONGEST_STRING, budget.characters)));
    budget.characters -= text.length;
    return text;
  }
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? null;
  if (level > DEEPEST_LEVEL) return '… (deeper levels left out)';
  return Array.isArray(value) ? storableArray(value, level, budget) : storableObject(value, level, budget);
}

function storableArray(values: readonly JsonValue[], level: number, budget: Budget): JsonValue[] {
  const kept: JsonValue[] = [];
  for (const value of values) {
    if (isSpent(budget)) return [...kept, `… (${values.length - kept.length} more left out)`];
    kept.push(storableValue(value, level + 1, budget));
  }
  return kept;
}

function storableObject(object: JsonObject, level: number, budget: Budget): JsonObject {
  const kept: [string, JsonValue][] = [];
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  for (const [key, value] of entries) {
    if (isSpent(budget)) {
      kept.push(['…', `${entries.length - kept.length} more left out`]);
      break;
    }
    const name = storableText(key, 200);
    budget.characters -= name.length;
    kept.push([name, storableValue(value, level + 1, budget)]);
  }
  // Own properties even for a key such as `__proto__`.
  return Object.fromEntries(kept);
}

const isSpent = (budget: Budget): boolean => budget.characters <= 0 || budget.values <= 0;

function cutAtCodePoint(text: string, length: number): string {
  const splitsPair =
    /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(length));
  return text.slice(0, splitsPair ? length - 1 : length);
}
