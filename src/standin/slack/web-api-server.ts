import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { JsonObject } from '../../json.ts';
import type { FaultQueue } from './faults.ts';
import type { SocketModeServer } from './socket-mode.ts';
import { WEB_API_METHODS, type Workspace } from './web-api-methods.ts';

const LONGEST_BODY_BYTES = 2 ** 20;
const SCOPES = [
  ...['chat:write', 'channels:history', 'groups:history', 'im:write', 'im:history'],
  ...['users:read', 'users:read.email'],
];

/** The Web API over HTTP: `POST /api/<method>`, a form or JSON, with the bot's bearer token. */
export function createWebApiServer(input: {
  readonly workspace: Workspace;
  readonly botToken: string;
  /** What the bot token was granted. Default: everything this project uses. */
  readonly scopes?: readonly string[] | undefined;
  readonly faults: FaultQueue;
  /** Null where the app is called over HTTP. */
  readonly sockets: SocketModeServer | null;
}): Server {
  return createServer((request, response) => {
    answer(input, request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
}

async function answer(
  { workspace, botToken, scopes = SCOPES, faults, sockets }: Parameters<typeof createWebApiServer>[0],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (body: JsonObject) => sendJson(response, body, scopes);
  const method = /^\/api\/([a-z]+(?:\.[A-Za-z]+)+)$/.exec(request.url ?? '')?.[1];
  if (request.method !== 'POST' || method === undefined) {
    response.writeHead(404).end();
    return;
  }
  const body = await readBody(request);
  if (body === null) {
    response.writeHead(413).end();
    return;
  }
  const args = readArguments(body, request);
  const fault = faults.take(method, args);
  const work = (): JsonObject => {
    const { authorization } = request.headers;
    if (method === 'apps.connections.open' && sockets) return sockets.openConnection(authorization);
    if (authorization === undefined) return { ok: false, error: 'not_authed' };
    if (authorization !== `Bearer ${botToken}`) return { ok: false, error: 'invalid_auth' };
    const run = WEB_API_METHODS[method];
    return run === undefined ? { ok: false, error: 'unknown_method' } : run(workspace, args);
  };
  const busy = (retryAfterSeconds: number) =>
    void response.writeHead(429, { 'retry-after': String(retryAfterSeconds) }).end();
  switch (fault) {
    case null:
      return send(work());
    case 'ratelimited':
      return busy(7);
    case '500-after-accept':
      work();
      response.writeHead(500).end('upstream error');
      return;
    case '500':
      response.writeHead(500).end('upstream error');
      return;
    case 'reset':
      request.socket.destroy();
      return;
    case 'reset-after-accept':
      work();
      request.socket.destroy();
      return;
    case 'timeout-after-accept':
      // The answer never comes; the caller gives up, or `stop` closes the connection.
      work();
      return;
    default:
      if (typeof fault === 'string') return send({ ok: false, error: fault });
      return 'answer' in fault ? send(fault.answer) : busy(fault.retryAfterSeconds);
  }
}

function sendJson(response: ServerResponse, answer: JsonObject, scopes: readonly string[]): void {
  response
    .writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'x-oauth-scopes': scopes.join(',') })
    .end(JSON.stringify(answer));
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LONGEST_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Structured arguments travel as JSON text inside a form. */
const STRUCTURED: ReadonlySet<string> = new Set(['blocks', 'metadata', 'view']);

function readArguments(body: string, request: IncomingMessage): Record<string, unknown> {
  if (request.headers['content-type']?.startsWith('application/json')) {
    return JSON.parse(body) as Record<string, unknown>;
  }
  const args: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(body)) {
    args[name] = STRUCTURED.has(name) ? JSON.parse(value) : value;
  }
  return args;
}
