import type { JsonValue } from '../json.ts';

export type PointerResult =
  | { readonly kind: 'found'; readonly value: JsonValue }
  | { readonly kind: 'missing' };

/** The value at a JSON Pointer (RFC 6901); `''` is the whole value. */
export function resolvePointer(value: JsonValue, pointer: string): PointerResult {
  if (pointer === '') return { kind: 'found', value };
  if (!pointer.startsWith('/')) return { kind: 'missing' };
  let current: JsonValue = value;
  for (const escaped of pointer.slice(1).split('/')) {
    const part = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    const next = memberOf(current, part);
    if (next === undefined) return { kind: 'missing' };
    current = next;
  }
  return { kind: 'found', value: current };
}

function memberOf(value: JsonValue, name: string): JsonValue | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return value[name];
}
