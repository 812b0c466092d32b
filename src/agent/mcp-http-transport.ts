import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
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
 * The SDK's transport, on a `fetch` of ours that follows no redirect, bounds what it reads, and tells apart what was
 * never sent, what the server refused, and everything else: that may have been acted on.
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
      const restMs = BETWEEN_STREAMS_MS - (clock.monotonic() - lastStreamMs);
      if (restMs > 0) await sleep(clock, restMs, init?.signal ?? undefined);
      lastStreamMs = clock.monotonic();
    }
    const response = await exchange(new URL(url), init ?? {});
    const status = response.statusCode ?? 0;
    if (status >= 300 && status < 500 && !(isStream && status === 405)) {
      response.destroy();
      // As with any connector: 307 and 308 say that the request was not taken, other redirects do not.
      const taken = status < 400 && status !== 307 && status !== 308;
      throw taken ? new McpMisbehaved('the server redirects') : new McpRefused(status);
    }
    let total = 0;
    // An event has at least two line ends.
    const isEvents = response.headers['content-type']?.startsWith('text/event-stream') === true;
    const misbehaved = (what: string) => {
      const error = new McpMisbehaved(what);
      onMisbehaved(error);
      return error;
    };
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        total += chunk.byteLength;
        const messages = isEvents ? Math.ceil(countOf(chunk, LINE_END) / 2) : 1;
        if (!flood.take({ bytes: chunk.byteLength, messages })) throw misbehaved('the server floods');
        if (total > MAX_BODY_BYTES) {
          throw isStream ? new Error('enough of this stream') : misbehaved('the server sent more than fits');
        }
        controller.enqueue(chunk);
      },
    });
    const body = (Readable.toWeb(response) as ReadableStream<Uint8Array>).pipeThrough(bounded);
    const hasBody = status !== 204 && status !== 304;
    return new Response(hasBody ? body : null, { status, headers: headersOf(response) });
  };
}

/**
 * One request on a connection of its own: on a kept-alive one, a request that was lost cannot be told from one that
 * arrived. Node writes nothing before `connect` (`secureConnect` under TLS), which draws the line exactly.
 */
function exchange(
  url: URL,
  { method = 'GET', headers, body, signal }: RequestInit,
): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    let connected = false;
    const request = (secure ? requestHttps : requestHttp)(url, {
      method,
      agent: false,
      headers: { ...Object.fromEntries(new Headers(headers)), 'accept-encoding': 'identity' },
      ...(signal && { signal }),
    });
    request.on('socket', (socket) =>
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true;
      }),
    );
    request.on('error', (error: NodeJS.ErrnoException) =>
      reject(connected ? error : new McpNotSent(error.code ?? 'no connection')),
    );
    request.on('response', (response) => {
      // Whoever reads the body hears of it; without a reader it is nobody's fault.
      response.on('error', () => {});
      resolve(response);
    });
    request.end(typeof body === 'string' ? body : undefined);
  });
}

const LINE_END = 10;

function countOf(chunk: Uint8Array, byte: number): number {
  let count = 0;
  for (let at = chunk.indexOf(byte); at !== -1; at = chunk.indexOf(byte, at + 1)) count += 1;
  return count;
}

function headersOf({ headers }: IncomingMessage): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') result.set(name, value);
  }
  return result;
}
