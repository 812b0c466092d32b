import { faultOfArguments, type ParsedJson, parseArguments } from '../confirmation/arguments.ts';
import type { JsonObject } from '../json.ts';
import type { ProposedCall } from './call-scope.ts';
import type { Tool } from './tool.ts';

export type ReadArguments = ParsedJson | Extract<ProposedCall['arguments'], { readonly kind: 'unknowable' }>;

/** Reads proposed arguments without loss, whoever proposed them. */
export function readArguments(given: ProposedCall['arguments']): ReadArguments {
  // Models send nothing at all for a tool without arguments.
  if (given.kind === 'text') return parseArguments(given.text.trim() === '' ? '{}' : given.text);
  if (given.kind === 'refused') {
    return { kind: 'refused', code: 'invalid_arguments', message: given.message };
  }
  if (given.kind === 'unknowable') return given;
  const fault = faultOfArguments(given.args);
  return fault === null
    ? { kind: 'parsed', value: given.args }
    : { kind: 'refused', code: 'invalid_arguments', message: fault };
}

/** What the record shows of them: nothing of what cannot be read without loss. */
export function argumentsShown(parsed: ReadArguments): JsonObject {
  switch (parsed.kind) {
    case 'parsed':
      return parsed.value;
    case 'unknowable':
      return parsed.args;
    case 'refused':
      return {};
  }
}

/** Checks arguments that a hook rewrote as strictly as those that the model wrote. */
export function checkRewritten(
  tool: Pick<Tool, 'validate'>,
  args: JsonObject,
): { readonly ok: true } | { readonly ok: false; readonly message: string } {
  const message = faultOfArguments(args);
  if (message !== null) return { ok: false, message };
  const check = tool.validate(args);
  return check.kind === 'valid' ? { ok: true } : { ok: false, message: check.message };
}
