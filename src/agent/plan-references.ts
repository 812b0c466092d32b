import { valueAt } from '../confirmation/json-pointer.ts';
import type { JsonValue } from '../json.ts';

/**
 * `{"$from": "<node>", "path": "<JSON Pointer>"}` where a node takes values: one out of another node's result. Inside a
 * loop, the loop's own name stands for its round.
 */
interface PlanReference {
  readonly from: string;
  readonly path: string;
}

/** The nodes whose results these arguments need. */
export function referencedNodes(args: JsonValue): string[] {
  const reference = referenceIn(args);
  if (reference !== null) return [reference.from];
  if (typeof args !== 'object' || args === null) return [];
  return Object.values(args).flatMap(referencedNodes);
}

export const isReference = (value: JsonValue): boolean => referenceIn(value) !== null;

export type Resolved =
  | { readonly kind: 'resolved'; readonly value: JsonValue }
  | { readonly kind: 'missing'; readonly message: string };

/** The value with every reference replaced, as hooks and gate will see it. */
export function resolveReferences(
  given: JsonValue,
  resultOf: (node: string) => JsonValue | undefined,
): Resolved {
  let message: string | null = null;
  const resolve = (value: JsonValue): JsonValue => {
    const reference = referenceIn(value);
    if (reference !== null) {
      const result = resultOf(reference.from);
      const found = result === undefined ? undefined : valueAt({ result }, `/result${reference.path}`);
      if (found !== undefined) return found;
      message ??= `The result of node "${reference.from}" has nothing at "${reference.path}".`;
      return null;
    }
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolve(member)]));
  };
  const value = resolve(given);
  return message === null ? { kind: 'resolved', value } : { kind: 'missing', message };
}

function referenceIn(value: JsonValue): PlanReference | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { $from: from, path, ...others } = value;
  if (typeof from !== 'string' || Object.keys(others).length > 0) return null;
  if (path === undefined) return { from, path: '' };
  return typeof path === 'string' ? { from, path } : null;
}
