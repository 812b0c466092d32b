import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** Lower-case names. May hold secrets: never part of an answer or a message. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null sends none. */
  readonly body: string | null;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
}

export type HttpExchange =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string; readonly cut: boolean }
  /** No connection came about, so not one byte of the request can have arrived. */
  | { readonly kind: 'not-connected'; readonly reason: string }
  /** The connection stood and the answer is missing or incomplete: the other side may have acted. */
  | { readonly kind: 'broken'; readonly reason: string };

// Each request has a connection of its own: on a kept-alive one, nobody could tell a request that was lost from one
// that arrived. Node writes nothing before `connect` (`secureConnect` under TLS), which draws the line exactly.
const plainAgent = new HttpAgent({ keepAlive: false });
const secureAgent = new HttpsAgent({ keepAlive: false });

/** One request and its answer. Never throws for what happens on the wire, never follows a redirect, never repeats. */
export function exchangeHttp(input: HttpRequest): Promise<HttpExchange> {
  const secure = input.url.protocol === 'https:';
  return new Promise((resolve) => {
    let connected = false;
    let answering = false;
    const broken = (error: unknown) =>
      resolve({ kind: connected ? 'broken' : 'not-connected', reason: reasonOf(error, input.signal) });

    if (input.signal.aborted) return broken(input.signal.reason);
    const body = input.body === null ? null : Buffer.from(input.body, 'utf8');
    const request = (secure ? requestHttps : requestHttp)(input.url, {
      method: input.method,
      agent: secure ? secureAgent : plainAgent,
      headers: {
        ...input.headers,
        ...(body && { 'content-type': 'application/json', 'content-length': String(body.byteLength) }),
      },
      signal: input.signal,
    });
    request.on('socket', (socket) =>
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true;
      }),
    );
    // Aborted, reset, refused, or not HTTP at all; later errors of a settled exchange change nothing.
    request.on('error', broken);
    request.on('close', () => {
      if (!answering) broken(new Error('closed without an answer'));
    });
    request.on('response', (response) => {
      answering = true;
      readBounded(response, input.maxBodyBytes).then(({ text, cut }) => {
        resolve({ kind: 'answered', status: response.statusCode ?? 0, body: text, cut });
        request.destroy();
      }, broken);
    });
    request.end(body ?? undefined);
  });
}

/** Reads at most `maxBytes` of the answer. Rejects when the connection breaks before the end that was announced. */
async function readBounded(
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ text: string; cut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) {
      return { text: Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8'), cut: true };
    }
  }
  return { text: Buffer.concat(chunks).toString('utf8'), cut: false };
}

/** A word about what broke, without an address or a header: `ECONNRESET`, `timed out`. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'timed out';
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'connection error';
}
