import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import { McpMisbehaved } from './mcp-fault.ts';

/** More tools than one agent can be told of. */
const MOST_TOOLS = 256;
const MOST_PAGES = 64;
/** Of one tool's description as JSON, in UTF-16 code units. */
const LARGEST_DEFINITION = 64 * 1024;
const DEEPEST_DEFINITION = 64;

/** One tool as its server describes it. Nothing in here is trusted. */
export interface ListedTool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | null;
  readonly hints: {
    readonly readOnly: boolean | null;
    readonly destructive: boolean | null;
    readonly idempotent: boolean | null;
  };
}

export interface McpListing {
  readonly tools: readonly ListedTool[];
  /** What was listed and cannot be a tool here, in words; each name cut. */
  readonly refused: readonly { readonly name: string; readonly why: string }[];
}

const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const hint = z.boolean().nullish().catch(null);
const listedTool = z.object({
  name: z.string(),
  title: z.string().nullish().catch(null),
  description: z.string().nullish().catch(null),
  inputSchema: jsonObject,
  outputSchema: jsonObject.nullish().catch(null),
  annotations: z
    .object({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint })
    .nullish()
    .catch(null),
});
const page = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });

/**
 * All tools of a server, page by page. Throws where the listing is none or goes round in circles. One bad tool costs
 * only itself; of a name that is there twice, neither counts, because nobody could say which one was meant.
 */
export async function listMcpTools(ask: (cursor: string | null) => Promise<unknown>): Promise<McpListing> {
  const raw: unknown[] = [];
  const cursors = new Set<string>();
  let cursor: string | null = null;
  do {
    const parsed = page.safeParse(await ask(cursor));
    if (!parsed.success) throw new McpMisbehaved('the server answered with no list of tools');
    raw.push(...parsed.data.tools);
    cursor = parsed.data.nextCursor ?? null;
    if (cursor !== null && cursors.has(cursor))
      throw new McpMisbehaved('the list of tools goes round in circles');
    if (cursor !== null) cursors.add(cursor);
    if (cursors.size >= MOST_PAGES)
      throw new McpMisbehaved(`the list of tools has more than ${MOST_PAGES} pages`);
  } while (cursor !== null && raw.length <= MOST_TOOLS);
  return sortOut(raw);
}

const keptListing = z.array(
  z.object({
    name: z.string(),
    title: z.string().nullable(),
    description: z.string(),
    inputSchema: jsonObject,
    outputSchema: jsonObject.nullable(),
    hints: z.object({
      readOnly: z.boolean().nullable(),
      destructive: z.boolean().nullable(),
      idempotent: z.boolean().nullable(),
    }),
  }),
);

/** A listing as it was kept, as JSON. Throws where it is none: then it is as if nothing had been kept. */
export const readListing = (text: string): readonly ListedTool[] => keptListing.parse(JSON.parse(text));

function sortOut(raw: readonly unknown[]): McpListing {
  const refused: { name: string; why: string }[] = [];
  const tools = new Map<string, ListedTool>();
  const repeated = new Set<string>();
  for (const definition of raw.slice(0, MOST_TOOLS)) {
    const read = readTool(definition);
    if ('why' in read) refused.push(read);
    else if (tools.has(read.name)) repeated.add(read.name);
    else tools.set(read.name, read);
  }
  for (const name of repeated) {
    tools.delete(name);
    refused.push({ name, why: 'is there twice' });
  }
  if (raw.length > MOST_TOOLS) {
    refused.push({ name: '…', why: `and more: the first ${MOST_TOOLS} tools count, no others` });
  }
  return { tools: [...tools.values()], refused };
}

function readTool(definition: unknown): ListedTool | { readonly name: string; readonly why: string } {
  if (!isBounded(definition)) return { name: nameIn(definition), why: 'is described at too great a length' };
  const parsed = listedTool.safeParse(definition);
  if (!parsed.success) return { name: nameIn(definition), why: 'is no description of a tool' };
  const { name, title, description, inputSchema, outputSchema, annotations } = parsed.data;
  const why = faultOfName(name);
  if (why !== null) return { name: nameIn(definition), why };
  return {
    name,
    title: title ?? null,
    description: description ?? '',
    inputSchema,
    outputSchema: outputSchema ?? null,
    hints: {
      readOnly: annotations?.readOnlyHint ?? null,
      destructive: annotations?.destructiveHint ?? null,
      idempotent: annotations?.idempotentHint ?? null,
    },
  };
}

/** The names that other connectors' tools can have: none that a model would not take, none that looks like another. */
const faultOfName = (name: string): string | null =>
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/.test(name)
    ? null
    : 'has a name that is not made of 1 to 60 letters, digits, - and _';

/** Level by level, since what walks down into it by itself would not come back from a deep one. */
function isBounded(definition: unknown): boolean {
  let level: readonly unknown[] = [definition];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST_DEFINITION || level.length > LARGEST_DEFINITION) return false;
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return JSON.stringify(definition).length <= LARGEST_DEFINITION;
}

function nameIn(definition: unknown): string {
  const name: unknown =
    typeof definition === 'object' && definition !== null && 'name' in definition ? definition.name : null;
  return typeof name === 'string' ? name.slice(0, 100) : '(none)';
}
