import type { JsonObject } from '../json.ts';
import { compileArguments } from './argument-schema.ts';
import { McpMisbehaved } from './mcp-fault.ts';
import type { ArgumentsCheck } from './tool.ts';
import { TimeIsOver, withinTime } from './within-time.ts';

const COMPILE_WITHIN_MS = 1_000;
const CHECK_WITHIN_MS = 250;

export type CompiledSchema =
  | { readonly kind: 'compiled'; readonly validate: (args: JsonObject) => ArgumentsCheck }
  | { readonly kind: 'faulty'; readonly why: string };

/**
 * A schema that a stranger wrote, ready to check arguments. A pattern that backtracks, references that multiply, a
 * comparison of everything with everything: whatever it costs is cut off, and arguments that could not be checked are
 * refused. Identifiers inside it are refused: they would be known to the schemas of others. Throws only where
 * compiling takes longer than any honest schema does: whoever sent it is not to be asked again soon.
 */
export function compileUntrusted(schema: JsonObject): CompiledSchema {
  if (schema.type !== 'object')
    return { kind: 'faulty', why: 'its arguments are not described as an object' };
  const { $id: _id, ...rest } = schema;
  if (holdsKeyword(rest, REFUSED)) return { kind: 'faulty', why: 'its schema uses $id or $async' };
  let check: (args: JsonObject) => ArgumentsCheck;
  try {
    check = withinTime(COMPILE_WITHIN_MS, () => compileArguments(schema));
  } catch (error) {
    if (error instanceof TimeIsOver) throw new McpMisbehaved('a schema takes too long to compile');
    return { kind: 'faulty', why: 'its schema is none that arguments can be checked against' };
  }
  return {
    kind: 'compiled',
    validate(args) {
      try {
        return withinTime(CHECK_WITHIN_MS, () => check(args));
      } catch {
        return {
          kind: 'invalid',
          message: 'The arguments cannot be checked against the schema of the tool.',
        };
      }
    },
  };
}

const REFUSED: ReadonlySet<string> = new Set(['$id', '$async']);

/** Whether one of the keywords stands anywhere; a property of that name has an object behind it, not a plain value. */
function holdsKeyword(schema: JsonObject, keywords: ReadonlySet<string>): boolean {
  const left: unknown[] = [schema];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (keywords.has(name) && typeof member !== 'object') return true;
      left.push(member);
    }
  }
  return false;
}
