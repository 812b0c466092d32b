import { compileArguments } from '../agent/argument-schema.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ConnectorToolConfig } from './config.ts';
import type { ConfigPath } from './config-fault.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';

/** The schema of a tool's arguments has to compile, and what the card shows of them has to be described in it. */
export function checkToolSchemas({ connectors }: Draft, collector: FaultCollector): void {
  for (const { path, value: connector } of connectors)
    for (const [index, tool] of connector.kind === 'http' ? connector.tools.entries() : [])
      checkTool([...path, 'tools', index], tool, collector);
}

function checkTool(path: ConfigPath, tool: ConnectorToolConfig, collector: FaultCollector): void {
  const place = [...path, 'parameters'];
  const { parameters } = tool;
  if (parameters.type !== 'object')
    collector.fault([...place, 'type'], 'has to be object: arguments have names');
  // Its validators answer with a promise, which would pass for a yes.
  if ('$async' in parameters) collector.fault([...place, '$async'], 'cannot be used here');
  else
    try {
      compileArguments(parameters);
    } catch (error) {
      collector.fault(place, `is not a JSON Schema: ${(error as Error).message}`);
    }
  const { amount, currency, payee, decisive } = tool.card;
  const pointers: [ConfigPath, string | null][] = [
    [['amount'], amount],
    [['currency'], currency],
    [['payee'], payee],
    ...decisive.map((pointer, index): [ConfigPath, string] => [['decisive', index], pointer]),
  ];
  for (const [field, pointer] of pointers)
    if (pointer !== null && !isDescribed(parameters, tokensOf(pointer)))
      collector.fault([...path, 'card', ...field], `points to nothing that parameters describes: ${pointer}`);
}

const tokensOf = (pointer: string): readonly string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Keywords behind which a property may be described as well; what is there is not searched. */
const ELSEWHERE = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if'] as const;

function isDescribed(schema: JsonValue | undefined, tokens: readonly string[]): boolean {
  const [token, ...rest] = tokens;
  if (token === undefined) return schema !== undefined;
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return false;
  if (ELSEWHERE.some((keyword) => Object.hasOwn(schema, keyword))) return true;
  if (/^\d+$/.test(token) && schema.items !== undefined) return isDescribed(schema.items, rest);
  const properties = schema.properties as JsonObject | undefined;
  return properties !== undefined && Object.hasOwn(properties, token) && isDescribed(properties[token], rest);
}
