import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { HttpConnectorConfig, McpConnectorConfig } from './config.ts';
import { duration } from './duration.ts';
import { flag, glob, httpUrl } from './settings.ts';

// Models take function names of at most 64 of these characters; `__` separates connector and tool.
const connectorId = z
  .string()
  .regex(/^(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, 'has to be 1 to 32 letters, digits, - and single _');
const toolName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/, 'has to be 1 to 60 letters, digits, - and _');

const jsonPointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])+)+$/, 'has to be a JSON Pointer like /amount');
const decisiveField = jsonPointer.nullable().default(null);

export const DEFAULT_TIMEOUT_MS = 30_000;

const header = z.string().regex(/^[^\r\n\0]+$/, 'has to be one line that is not empty');
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is not the name of a header');

const treatment = {
  card: z
    .strictObject({
      amount: decisiveField,
      currency: decisiveField,
      payee: decisiveField,
      decisive: z.array(jsonPointer).default([]),
    })
    .prefault({}),
  writes: flag.default(true),
  idempotent: flag.default(false),
  timeout: duration('1h').default(DEFAULT_TIMEOUT_MS),
};

const toolSchema = z.strictObject({
  name: toolName,
  description: z.string().max(4_000).default(''),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  path: z.string().regex(/^\/[^\s?#]*$/, 'has to begin with / and hold no blanks, ? and #'),
  parameters: z
    .record(z.string(), z.unknown())
    .default({ type: 'object', properties: {} })
    .transform((schema) => schema as JsonObject),
  requiresConfirmation: flag.default(false),
  ...treatment,
});

/** An entry of `connectors` of kind `http`. */
export const httpConnectorSchema: z.ZodType<HttpConnectorConfig> = z
  .strictObject({
    id: connectorId,
    kind: z.literal('http'),
    baseUrl: httpUrl,
    headers: z.record(headerName, header).default({}),
    tools: z.array(toolSchema).min(1),
  })
  .transform(({ tools, ...connector }) => ({
    ...connector,
    tools: tools.map(({ timeout, ...tool }) => ({ ...tool, timeoutMs: timeout })),
  }));

const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable');
const argument = z
  .string()
  .max(10_000)
  .refine((value) => !value.includes('\0'), 'holds a NUL');

const mcpFields = {
  id: connectorId,
  kind: z.literal('mcp'),
  requiresConfirmation: z.array(glob).default([]),
  tools: z
    .array(
      z
        .strictObject({ name: glob, requiresConfirmation: flag.nullable().default(null), ...treatment })
        .transform(({ timeout, ...rule }) => ({ ...rule, timeoutMs: timeout })),
    )
    .default([]),
};

const mcpOverStdio = z
  .strictObject({
    ...mcpFields,
    command: z.tuple([argument.min(1)], argument),
    env: z.record(environmentName, argument).default({}),
    cwd: argument.min(1).nullable().default(null),
  })
  .transform(({ command, env, cwd, ...connector }) => ({
    ...connector,
    server: { transport: 'stdio' as const, command, env, cwd },
  }));

const mcpOverHttp = z
  .strictObject({ ...mcpFields, url: httpUrl, headers: z.record(headerName, header).default({}) })
  .transform(({ url, headers, ...connector }) => ({
    ...connector,
    server: { transport: 'http' as const, url, headers },
  }));

/** An entry of `connectors` of kind `mcp`: one that has a `url` is reached there, any other is a program to start. */
export const mcpConnectorSchema = (entry: object): z.ZodType<McpConnectorConfig> =>
  'url' in entry ? mcpOverHttp : mcpOverStdio;
