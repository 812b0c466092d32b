import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject } from '../json.ts';
import type { ArgumentsCheck } from './tool.ts';

// Nothing is coerced, filled in or removed: what was approved is what the model said, to the letter.
const OPTIONS = { strict: false, logger: false, ownProperties: true } as const;
const draft07 = new Ajv(OPTIONS);
const draft2020 = new Ajv2020(OPTIONS);

/**
 * Compiles a tool's schema once, in the dialect that `$schema` names: 2020-12 where it names none, as tools are
 * described today. Throws where it is no JSON Schema, or one of a dialect whose keywords would be passed over in
 * silence: a fault of the configuration.
 */
export function compileArguments(parameters: JsonObject): (args: JsonObject) => ArgumentsCheck {
  const { $schema: dialect, $id: _id, ...schema } = parameters;
  const check = compileIn(dialect, schema);
  return (args) => {
    if (check(args)) return { kind: 'valid' };
    return { kind: 'invalid', message: describeError(check.errors?.[0]) };
  };
}

function compileIn(dialect: unknown, schema: JsonObject): ValidateFunction {
  if (dialect === undefined || isDialect(dialect, 'https://json-schema.org/draft/2020-12/schema')) {
    return compileOnce(draft2020, schema);
  }
  if (isDialect(dialect, 'http://json-schema.org/draft-07/schema')) return compileOnce(draft07, schema);
  throw new Error(`$schema is ${JSON.stringify(dialect)}; known are draft-07 and 2020-12`);
}

/** The compiler keeps every schema that it ever saw, and runs of agents with delegates bring their own. */
function compileOnce(compiler: Ajv | Ajv2020, schema: JsonObject): ValidateFunction {
  try {
    return compiler.compile(schema);
  } finally {
    compiler.removeSchema(schema);
  }
}

const isDialect = (dialect: unknown, uri: string): boolean => dialect === uri || dialect === `${uri}#`;

function describeError(error: ErrorObject | undefined): string {
  if (!error) return 'The arguments do not fit the schema of the tool.';
  const name = argumentName(error.instancePath);
  switch (error.keyword) {
    case 'required':
      return `Argument "${join(name, error.params.missingProperty)}" is missing.`;
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `Argument "${join(name, error.params.additionalProperty ?? error.params.unevaluatedProperty)}" is not known to the tool.`;
    case 'enum':
      return `Argument "${name}" must be one of ${JSON.stringify(error.params.allowedValues)}.`;
    default:
      return name === ''
        ? `The arguments are wrong: they ${error.message ?? 'do not fit the schema'}.`
        : `Argument "${name}" is wrong: it ${error.message ?? 'does not fit the schema'}.`;
  }
}

/** `/lines/0/amount` as people write it: `lines.0.amount`. */
const argumentName = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');

const join = (parent: string, child: unknown): string =>
  parent === '' ? String(child) : `${parent}.${String(child)}`;
