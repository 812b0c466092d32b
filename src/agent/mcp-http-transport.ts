import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Clock, sleep } from '../clock.ts';
import type { McpConnectorConfig } from '../config/config.ts';
import { McpMisbehaved, McpNotSent, McpRefused } from './mcp-fault.ts';
import { McpFloodGauge } from './mcp-flood-gauge.ts';

type HttpServer = Extract<McpConnectorConfig['server'], { transport: 'http' }>;

/** How much one answer, or one stretch of an event stream, may hold; a stream that is cut is taken up again. */
const MAX_BODY_BYTES = 20 * 1024 * 1024;
/** The server says how soon its event stream is asked for again; not sooner than this. */
const BETWEEN_STREAMS_MS = 1_000;

/**
 * The SDK's transport, on a `fetch` that follows no redirect, bounds what it reads, and tells apart what was never
 * sent, what the server refused, and everything else: that may have been acted on.
 */
export const createMcpHttpTransport = (
  server: HttpServer,
  clock: Clock,
  onMisbehaved: (error: McpMisbehaved) => void,
): Transport =>
  // The SDK's types do not distinguish an absent session id from an undefined one.
  new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { ...server.headers } },
    fetch: boundedFetch(clock, onMisbehaved),
  }) as unknown as Transport;

function boundedFetch(clock: Clock, onMisbehaved: (error: McpMisbehaved) => void): FetchLike {
  const flood = new McpFloodGauge(clock);
  let lastStreamMs = Number.NEGATIVE_INFINITY;
  return async (url, init) => {
    const isStream = init?.method === 'GET';
    if (isStream) {
      const sinceMs = clock.monotonic() - lastStreamMs;
      if (sinceMs < BETWEEN_STREAMS_MS) {
        await sleep(clock, BETWEEN_STREAMS_MS - sinceMs, init?.signal ?? undefined);
      }
      lastStreamMs = clock.monotonic();
    }
    let response: Response;
    try {
      response = await fetch(url, { ...init, redirect: 'manual' });
    } catch (error) {
      const reason = reasonNotSent(error);
      throw reason === null ? error : new McpNotSent(reason);
    }
    if (isStream && response.status === 405) return response;
    if (response.status >= 300 && response.status < 500) {
      await response.body?.cancel().catch(() => {});
      // As with any connector: 307 and 308 say that the request was not taken, other redirects do not.
      const taken = response.status < 400 && response.status !== 307 && response.status !== 308;
      throw taken ? new McpMisbehaved('the server redirects') : new McpRefused(response.status);
    }
    if (response.body === null) return response;
    const bounded = response.body.pipeThrough(
      limit((bytes, total) => {
        if (total > MAX_BODY_BYTES) throw new McpMisbehaved('the server sent more than fits');
        if (flood.take({ bytes, messages: 1 })) return;
        const floods = new McpMisbehaved('the server floods');
        onMisbehaved(floods);
        throw floods;
      }),
    );
    return new Response(bounded, response);
  };
}

const limit = (check: (bytes: number, total: number) => void): TransformStream<Uint8Array, Uint8Array> => {
  let total = 0;
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.byteLength;
      check(chunk.byteLength, total);
      controller.enqueue(chunk);
    },
  });
};

/** What goes wrong before there is a connection: nothing of the request was written then. */
const BEFORE_SENDING: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function reasonNotSent(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth += 1) {
    const code: unknown = 'code' in cause ? cause.code : undefined;
    if (typeof code === 'string' && BEFORE_SENDING.has(code)) return code;
  }
  return null;
}
