import type { z } from 'zod';
import { nearName } from '../near-name.ts';
import type { ConfigPath } from './config-fault.ts';
import { knownKeysAt } from './known-keys.ts';
import type { YamlSource } from './yaml-source.ts';

/**
 * Checks `value`, which stands at `path` of the file, against `schema`, and reports all that is wrong with it.
 * Null where something is.
 */
export function checkShape<Output>(
  source: YamlSource,
  path: ConfigPath,
  schema: z.ZodType<Output>,
  value: unknown,
): Output | null {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) reportIssue(source, path, schema, value, issue);
  return null;
}

function reportIssue(
  source: YamlSource,
  path: ConfigPath,
  schema: z.ZodType,
  value: unknown,
  issue: z.core.$ZodIssue,
): void {
  const inside = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const place = [...path, ...inside];
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeysAt(schema, inside);
    for (const key of issue.keys)
      source.collector.fault([...place, key], `is not a known key${nearest(key, known)}`);
    return;
  }
  const variable = source.emptyVariable(place);
  // Where the expansion itself was at fault, that has been said.
  if (variable === '') return;
  if (valueAt(value, inside) === undefined) {
    const reason = variable === null ? '' : `, and the environment variable ${variable} is empty`;
    source.collector.fault(place, `is required${reason}`);
    return;
  }
  source.collector.fault(place, messageOf(issue));
}

/** `; did you mean tools?`, or nothing where no known name is near. */
export function nearest(name: string, known: readonly string[]): string {
  const near = nearName(name, known);
  return near === null ? '' : `; did you mean ${near}?`;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text (in quotes, where it reads like a number)',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

/** How the library's own messages begin; anything else was written by the schema's author and says more. */
const STOCK_MESSAGE = /^(?:Invalid|Too) /;

// Never the value itself: it may be a secret that stands in the wrong place.
function messageOf(issue: z.core.$ZodIssue): string {
  if (!STOCK_MESSAGE.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return `has to be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `has to be ${issue.values.join(' or ')}`;
    case 'too_small':
      if (issue.origin === 'string')
        return issue.minimum === 1 ? 'is empty' : `is shorter than ${issue.minimum} characters`;
      return issue.origin === 'array'
        ? `needs at least ${issue.minimum} of them`
        : `has to be at least ${issue.minimum}`;
    case 'too_big':
      if (issue.origin === 'string') return `is longer than ${issue.maximum} characters`;
      return `has to be at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
