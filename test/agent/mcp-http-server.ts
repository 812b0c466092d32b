import { randomUUID } from 'node:crypto';
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js';

/** What becomes of the next request that calls a tool, before the SDK sees it; null: nothing special. */
export type HttpFault = ((request: IncomingMessage, response: ServerResponse) => void) | null;

/** A server of tools on loopback over streamable HTTP, by the SDK's own classes, with a session for each client. */
export class McpHttpServer {
  readonly calls: { readonly name: string; readonly arguments: unknown }[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  fault: HttpFault = null;
  tools: readonly object[] = [];
  readonly #sessions = new Map<string, { transport: StreamableHTTPServerTransport; server: Server }>();
  #http: HttpServer | null = null;
  #port = 0;

  /** The address of the endpoint; the same again after `stop`. */
  async start(): Promise<string> {
    const http = createServer((request, response) => void this.#handle(request, response));
    this.#http = http;
    await new Promise<void>((resolve) => http.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (http.address() as AddressInfo).port;
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  async stop(): Promise<void> {
    this.forget();
    this.#http?.closeAllConnections();
    await new Promise((resolve) => this.#http?.close(resolve));
  }

  /** As a server that was started anew: no client's session is known any more. */
  forget(): void {
    this.#sessions.clear();
  }

  async announceChange(): Promise<void> {
    for (const { server } of this.#sessions.values()) await server.sendToolListChanged();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.headers.push(request.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    if (this.fault !== null && text.includes('"tools/call"')) return this.fault(request, response);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.#sessions.get(id) : undefined;
    if (known === undefined && id !== undefined) {
      response.writeHead(404).end();
      return;
    }
    const { transport } = known ?? (await this.#open());
    await transport.handleRequest(request, response, body);
  }

  async #open(): Promise<{ transport: StreamableHTTPServerTransport; server: Server }> {
    const server = new Server(
      { name: 'remote', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: this.tools as Tool[] }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      this.calls.push({ name: params.name, arguments: params.arguments });
      return { content: [{ type: 'text', text: JSON.stringify({ did: params.name }) }] };
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, { transport, server });
      },
    });
    await server.connect(transport as unknown as Transport);
    return { transport, server };
  }
}
