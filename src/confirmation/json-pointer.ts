import type { JsonObject, JsonValue } from '../json.ts';

/** The value that a JSON Pointer (RFC 6901) names; undefined where there is none. */
export function valueAt(root: JsonObject, pointer: string): JsonValue | undefined {
  if (pointer === '') return root;
  if (!pointer.startsWith('/')) return undefined;
  let value: JsonValue | undefined = root;
  for (const token of pointer.slice(1).split('/')) {
    if (value === null || typeof value !== 'object') return undefined;
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) value = /^(?:0|[1-9]\d*)$/.test(key) ? value[Number(key)] : undefined;
    else value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

/** Every value that holds no other (scalars, `{}`, `[]`) with its pointer, in document order. */
export function* leavesOf(value: JsonValue, pointer = ''): Generator<readonly [string, JsonValue]> {
  const entries = value !== null && typeof value === 'object' ? Object.entries(value) : [];
  if (entries.length === 0) {
    yield [pointer, value];
    return;
  }
  for (const [key, child] of entries) yield* leavesOf(child, `${pointer}${pointerOf(key)}`);
}

/** The pointer to one member of an object, or below it. */
export const pointerOf = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
