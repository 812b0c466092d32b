import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { JsonValue } from '../json.ts';
import { McpNotSent, McpRefused } from './mcp-fault.ts';
import type { McpSession } from './mcp-session.ts';
import type { ToolExecution, ToolOutcome } from './tool.ts';
import { isTooDeep, parseToolResult } from './tool-result.ts';
import { truncateText } from './truncate-text.ts';

/** How much of an answer is kept, in UTF-16 code units of its JSON. */
const LONGEST_RESULT = 1024 * 1024;
/** JSON-RPC's own codes for "this request is not one that I act on". */
const NOT_ACTED_ON: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602]);

const toolResult = z.object({
  content: z.array(z.unknown()).default([]),
  structuredContent: z.custom<JsonValue>(() => true).optional(),
  isError: z.boolean().optional(),
});

/**
 * One call of a server's tool. An answer is the result, or with `isError` a failure; a request that was refused, or
 * never sent, failed; everything else that goes wrong after the request was written is unknown.
 */
export async function callMcpTool(
  session: McpSession,
  name: string,
  { args, invocationId, signal }: ToolExecution,
): Promise<ToolOutcome> {
  let answer: unknown;
  try {
    answer = await session.request(
      'tools/call',
      { name, arguments: args, _meta: { 'countersign/idempotency-key': invocationId } },
      signal,
    );
  } catch (error) {
    return outcomeOfFault(error, signal);
  }
  const parsed = toolResult.safeParse(answer);
  if (!parsed.success) {
    return { kind: 'unknown', message: 'The server answered something that is no result; it may have run.' };
  }
  const result = bounded(resultOf(parsed.data));
  if (parsed.data.isError !== true) return { kind: 'succeeded', result };
  return { kind: 'failed', code: 'tool_failed', message: 'The tool answered with an error.', result };
}

/** No connection stands: nothing can have been sent. */
export const notConnected = (why: string): ToolOutcome => ({
  kind: 'failed',
  code: 'unavailable',
  message: `The tool could not be reached (${why}); nothing was sent.`,
  result: null,
});

function outcomeOfFault(error: unknown, signal: AbortSignal): ToolOutcome {
  if (error instanceof McpNotSent) return notConnected('no connection');
  if (error instanceof McpRefused) {
    const code = error.status === 429 ? 'rate_limited' : 'tool_failed';
    return {
      kind: 'failed',
      code,
      message: `The server answered with status ${error.status}.`,
      result: null,
    };
  }
  if (error instanceof McpError && NOT_ACTED_ON.has(error.code)) {
    const message = `The server refused the call (error ${error.code}).`;
    return { kind: 'failed', code: 'tool_failed', message, result: truncateText(error.message, 2_048) };
  }
  return {
    kind: 'unknown',
    message: signal.aborted
      ? 'The tool did not answer in time.'
      : 'The request was sent and no complete answer came back.',
  };
}

/**
 * What a tool said: the JSON in its one text, in which no number changes on the way; else its structured content; else
 * the text itself; else its blocks one by one, pictures and the like by kind alone.
 */
function resultOf({ content, structuredContent }: z.infer<typeof toolResult>): JsonValue {
  const texts = content.map(textIn);
  const [only] = texts;
  if (content.length === 1 && typeof only === 'string') {
    const parsed = parseToolResult(only);
    const isEnough =
      typeof parsed === 'object' || structuredContent === undefined || isTooDeep(structuredContent);
    return isEnough ? parsed : structuredContent;
  }
  if (structuredContent !== undefined) return isTooDeep(structuredContent) ? TOO_DEEP : structuredContent;
  if (content.length === 0) return null;
  return content.map((block, index) => texts[index] ?? { type: typeIn(block) });
}

const TOO_DEEP = '[the answer is nested too deeply to be kept]';

const textBlock = z.object({ type: z.literal('text'), text: z.string() });
const typedBlock = z.object({ type: z.string().max(100) });

const textIn = (block: unknown): string | null => textBlock.safeParse(block).data?.text ?? null;
const typeIn = (block: unknown): string => typedBlock.safeParse(block).data?.type ?? 'unknown';

function bounded(result: JsonValue): JsonValue {
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  if (text.length <= LONGEST_RESULT) return result;
  return `${text.slice(0, LONGEST_RESULT)}\n[the answer was cut at ${LONGEST_RESULT} characters]`;
}
