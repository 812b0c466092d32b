import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import type { CallbackResult } from './send-callback.ts';

/** Slack's end of an app's Socket Mode connections (docs.slack.dev, "Using Socket Mode"). */
export interface SlackSockets {
  /** Those that stand, oldest first. */
  connections(): readonly SlackConnection[];
  /** The envelopes that the app has answered so far, over whichever connection. */
  answered(): readonly string[];
  /** The next so many connections are refused at their upgrade. */
  refuseUpgrades(count: number): void;
  /** The next so many connections are accepted and hear nothing, not even `hello`. */
  keepSilent(count: number): void;
}

export interface SlackConnection {
  /** Sends an interactive payload and gives the app its 3 seconds; the same `envelopeId` twice is one event twice. */
  deliver(payload: unknown, envelopeId?: string): Promise<CallbackResult>;
  /** Any text as a frame. */
  send(text: string): void;
  /** Says that it will end; the connection stands until `close`. */
  disconnect(reason: string): void;
  /** Ends it with WebSocket's own goodbye. */
  close(): void;
  /** The network breaks. */
  cut(): void;
  /** Nothing goes through any more, and neither side is told. */
  freeze(): void;
}

export interface SocketModeOptions {
  /** `xapp-…`; opens connections and nothing else. */
  readonly appToken: string;
  readonly appId: string;
  readonly clock: Clock;
}

const MOST_CONNECTIONS = 10;
const ANSWER_WITHIN_MS = 3000;

/** One app's sockets, on the HTTP server of the Web API. */
export class SocketModeServer implements SlackSockets {
  readonly #options: SocketModeOptions;
  readonly #upgrades = new WebSocketServer({ noServer: true });
  readonly #tickets = new Set<string>();
  readonly #connections = new Set<Connection>();
  readonly #upgraded = new Set<Socket>();
  readonly #answered: string[] = [];
  #port = 0;
  #turn = 0;
  #refusals = 0;
  #silences = 0;

  constructor(options: SocketModeOptions) {
    this.#options = options;
  }

  /** Takes the upgrades of a server that listens. */
  attach(server: Server, port: number): void {
    this.#port = port;
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
  }

  /** `apps.connections.open`: an address with a ticket for one connection. */
  openConnection(authorization: string | undefined): JsonObject {
    const { appToken, appId } = this.#options;
    if (authorization === undefined) return { ok: false, error: 'not_authed' };
    if (authorization !== `Bearer ${appToken}`) return { ok: false, error: 'invalid_auth' };
    const ticket = randomUUID();
    this.#tickets.add(ticket);
    return { ok: true, url: `ws://127.0.0.1:${this.#port}/link/?ticket=${ticket}&app_id=${appId}` };
  }

  connections(): readonly SlackConnection[] {
    return [...this.#connections];
  }

  answered(): readonly string[] {
    return [...this.#answered];
  }

  refuseUpgrades(count: number): void {
    this.#refusals = count;
  }

  keepSilent(count: number): void {
    this.#silences = count;
  }

  /** Over one of the connections that are not about to end, in turn. Without any, the person sees an error. */
  async deliver(payload: unknown): Promise<CallbackResult> {
    const standing = [...this.#connections].filter((connection) => !connection.leaving);
    this.#turn += 1;
    const connection = standing[this.#turn % Math.max(1, standing.length)];
    return connection === undefined ? NO_ANSWER : connection.deliver(payload);
  }

  stop(): void {
    for (const socket of this.#upgraded) socket.destroy();
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => {});
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    const ticket = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams.get('ticket') ?? '';
    const known = this.#tickets.delete(ticket);
    if (!known || this.#refusals > 0) {
      if (known) this.#refusals -= 1;
      socket.end('HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    this.#upgrades.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket, socket));
  }

  #accept(webSocket: WebSocket, socket: Socket): void {
    const answered = (envelopeId: string) => void this.#answered.push(envelopeId);
    const connection = new Connection({ webSocket, socket, answered, clock: this.#options.clock });
    if (this.#silences > 0) {
      this.#silences -= 1;
      return;
    }
    if (this.#connections.size >= MOST_CONNECTIONS) {
      connection.disconnect('too_many_websockets');
      connection.close();
      return;
    }
    this.#connections.add(connection);
    webSocket.once('close', () => this.#connections.delete(connection));
    connection.send(
      JSON.stringify({
        type: 'hello',
        num_connections: this.#connections.size,
        debug_info: { host: 'applink-standin', build_number: 1, approximate_connection_time: 3600 },
        connection_info: { app_id: this.#options.appId },
      }),
    );
  }
}

const NO_ANSWER: CallbackResult = {
  status: null,
  contentType: '',
  body: '',
  elapsedMs: 0,
  shownAsError: true,
};

const acknowledgement = z.object({
  envelope_id: z.string(),
  payload: z.record(z.string(), z.unknown()).optional(),
});

class Connection implements SlackConnection {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, (payload: Record<string, unknown> | undefined) => void>();
  /** Ends each wait for an answer that cannot come any more. */
  readonly #giveUps = new Set<() => void>();
  leaving = false;

  constructor(input: {
    readonly webSocket: WebSocket;
    readonly socket: Socket;
    readonly clock: Clock;
    readonly answered: (envelopeId: string) => void;
  }) {
    const { webSocket, socket, clock, answered } = input;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#clock = clock;
    webSocket.on('error', () => {});
    webSocket.on('message', (data) => {
      const answer = acknowledgement.safeParse(parsed(data.toString())).data;
      if (answer === undefined) return;
      answered(answer.envelope_id);
      this.#waiting.get(answer.envelope_id)?.(answer.payload);
    });
    webSocket.once('close', () => {
      for (const giveUp of this.#giveUps) giveUp();
    });
  }

  deliver(payload: unknown, envelopeId: string = randomUUID()): Promise<CallbackResult> {
    const startedAt = this.#clock.monotonic();
    return new Promise((resolve) => {
      const finish = (result: Partial<CallbackResult>) => {
        cancel();
        this.#giveUps.delete(giveUp);
        this.#waiting.delete(envelopeId);
        resolve({ ...NO_ANSWER, ...result, elapsedMs: this.#clock.monotonic() - startedAt });
      };
      const giveUp = () => finish({});
      const cancel = this.#clock.setTimer(ANSWER_WITHIN_MS, giveUp);
      this.#giveUps.add(giveUp);
      this.#waiting.set(envelopeId, (answer) =>
        finish({
          status: 200,
          shownAsError: false,
          ...(answer && Object.keys(answer).length > 0
            ? { contentType: 'application/json', body: JSON.stringify(answer) }
            : {}),
        }),
      );
      this.send(
        JSON.stringify({
          envelope_id: envelopeId,
          type: 'interactive',
          payload,
          accepts_response_payload: true,
        }),
      );
    });
  }

  send(text: string): void {
    this.#webSocket.send(text, () => {});
  }

  disconnect(reason: string): void {
    this.leaving = true;
    this.send(
      JSON.stringify({ type: 'disconnect', reason, debug_info: { host: randomBytes(4).toString('hex') } }),
    );
  }

  close(): void {
    this.#webSocket.close(1000);
  }

  cut(): void {
    this.#webSocket.terminate();
  }

  freeze(): void {
    this.#socket.pause();
  }
}

/** `undefined` where it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
