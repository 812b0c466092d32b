import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { WholeMessages } from './whole-messages.ts';

/** One connection through the proxy, seen from the middle. */
export interface ProxiedConnection {
  /** Nothing passes any more, in either direction, and nobody is told: a half-open connection. */
  stall(): void;
  readonly stalled: boolean;
}

export interface TcpProxyOptions {
  /** Sees what a client sends, in whole messages, before it is passed on; stalling the connection there holds it back. */
  readonly onSent?: (text: string, connection: ProxiedConnection) => void;
  /** The same for what the server answers. */
  readonly onAnswered?: (text: string, connection: ProxiedConnection) => void;
}

export interface TcpProxy {
  /** The same URL, through the proxy. */
  readonly url: string;
  /** Stalls each connection that is open now and whose first words hold `mark`; new ones pass. */
  stallOpen(mark?: string): number;
  /** Ends what is stalled on both sides, as the system does for a process that was killed. */
  cutStalled(): void;
  stop(): Promise<void>;
}

/** Stands between a client and PostgreSQL on loopback, to break what is between them. */
export async function startTcpProxy(targetUrl: string, options: TcpProxyOptions = {}): Promise<TcpProxy> {
  const target = new URL(targetUrl);
  const open = new Set<Proxied>();
  // Half-open has to be possible: otherwise the runtime answers a client's goodbye even where nothing is passed on.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port), allowHalfOpen: true });
    const connection = new Proxied(client, upstream, options);
    open.add(connection);
    connection.onClosed(() => !connection.stalled && open.delete(connection));
  });
  await listening(server);
  const url = new URL(targetUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString(),
    cutStalled() {
      for (const connection of open) {
        if (!connection.stalled) continue;
        open.delete(connection);
        connection.destroy();
      }
    },
    stallOpen(mark = '') {
      const chosen = [...open].filter((connection) => connection.opening.includes(mark));
      for (const connection of chosen) connection.stall();
      return chosen.length;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        for (const connection of open) connection.destroy();
        server.close(() => resolve());
      }),
  };
}

const listening = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });

class Proxied implements ProxiedConnection {
  readonly #client: Socket;
  readonly #server: Socket;
  /** The first that a client sent: PostgreSQL's start-up message, which names the application. */
  opening = '';
  stalled = false;

  constructor(client: Socket, server: Socket, options: TcpProxyOptions) {
    this.#client = client;
    this.#server = server;
    const sent = new WholeMessages('client');
    client.on('data', (chunk: Buffer) => {
      if (this.stalled) return;
      const messages = sent.next(chunk);
      if (messages === null) return;
      const text = messages.toString('latin1');
      this.opening ||= text;
      options.onSent?.(text, this);
      if (!this.stalled) server.write(messages);
    });
    const answered = new WholeMessages('server');
    server.on('data', (chunk: Buffer) => {
      if (this.stalled) return;
      const messages = answered.next(chunk);
      if (messages === null) return;
      options.onAnswered?.(messages.toString('latin1'), this);
      if (!this.stalled) client.write(messages);
    });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => {});
      // Of a stalled connection nobody hears anything, not even its end.
      from.on('end', () => !this.stalled && to.end());
      from.on('close', () => !this.stalled && to.destroy());
    }
  }

  stall(): void {
    this.stalled = true;
  }

  onClosed(run: () => void): void {
    this.#client.once('close', run);
  }

  destroy(): void {
    this.stalled = false;
    this.#client.destroy();
    this.#server.destroy();
  }
}
