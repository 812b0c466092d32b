import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { ConnectorConfig } from './config.ts';
import { duration } from './duration.ts';
import { flag, httpUrl } from './settings.ts';

// Models take function names of at most 64 of these characters; `__` separates connector and tool.
const connectorId = z
  .string()
  .regex(/^(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, 'has to be 1 to 32 letters, digits, - and single _');
const toolName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/, 'has to be 1 to 60 letters, digits, - and _');

const jsonPointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])+)+$/, 'has to be a JSON Pointer like /amount');
const decisiveField = jsonPointer.nullable().default(null);

const header = z.string().regex(/^[^\r\n\0]+$/, 'has to be one line that is not empty');
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is not the name of a header');

const toolSchema = z.strictObject({
  name: toolName,
  description: z.string().max(4_000).default(''),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  path: z.string().regex(/^\/[^\s?#]*$/, 'has to begin with / and hold no blanks, ? and #'),
  parameters: z
    .record(z.string(), z.unknown())
    .default({ type: 'object', properties: {} })
    .transform((schema) => schema as JsonObject),
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
  requiresConfirmation: flag.default(false),
  timeout: duration('1h').default(30_000),
});

/** An entry of `connectors` of kind `http`. */
export const connectorSchema: z.ZodType<ConnectorConfig> = z
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
