import type { JsonObject, JsonValue } from '../json.ts';

/** Deeper arguments are refused at every edge of the service, so no hook may rewrite any into being deeper. */
const MOST_LEVELS = 64;

/**
 * A deeply frozen plain copy of `value`, each property read once: what a getter or a proxy says later changes nothing.
 * Throws a `TypeError` that names the property where the value is not JSON (`undefined`, a function, an instance of a
 * class, a number that is not finite, a cycle, more than 64 levels).
 */
export function frozenJson(value: JsonObject, name?: string): JsonObject;
export function frozenJson(value: unknown, name?: string): JsonValue;
export function frozenJson(value: unknown, name = 'value'): JsonValue {
  return copy(value, name, MOST_LEVELS);
}

function copy(value: unknown, name: string, levelsLeft: number): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object') throw new TypeError(`"${name}" is not JSON: ${typeof value}`);
  if (levelsLeft === 0) throw new TypeError(`"${name}" is nested deeper than ${MOST_LEVELS} levels`);
  const plain = Array.isArray(value)
    ? Array.from(value, (item: unknown) => copy(item, name, levelsLeft - 1))
    : copyObject(value, name, levelsLeft);
  Object.freeze(plain);
  return plain;
}

function copyObject(value: object, name: string, levelsLeft: number): JsonObject {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`"${name}" is not JSON: an instance of a class`);
  }
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const item = copy((value as Record<string, unknown>)[key], key, levelsLeft - 1);
    // Assigning would set the prototype instead of keeping the key that somebody sent.
    if (key === '__proto__') Object.defineProperty(result, key, { value: item, enumerable: true });
    else result[key] = item;
  }
  return result;
}
