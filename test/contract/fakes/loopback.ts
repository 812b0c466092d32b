import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** `hang`: never answers. `reset`: breaks the connection. `stream`: server-sent events, one string each. */
export type Reply =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly json: unknown }
  | { readonly stream: readonly string[] }
  | 'hang'
  | 'reset';

export interface Loopback {
  readonly url: string;
  close(): Promise<void>;
}

/** A small HTTP server on a free port of loopback. */
export async function loopback(answer: (heard: Heard) => Reply | Promise<Reply>): Promise<Loopback> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', 'http://loopback');
    const reply = await answer({
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    });
    send(response, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, reply: Reply) {
  if (reply === 'hang') return;
  if (reply === 'reset') {
    response.socket?.destroy();
    return;
  }
  if ('stream' in reply) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of reply.stream) response.write(`data: ${event}\n\n`);
    response.end();
    return;
  }
  response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
  response.end(JSON.stringify(reply.json));
}
