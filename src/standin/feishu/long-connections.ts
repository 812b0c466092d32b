import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import { decodeFrame, encodeFrame } from './frame-codec.ts';

/** Feishu's end of an app's long connections (open.feishu.cn, "Receive callbacks through persistent connection"). */
export interface FeishuLongConnections {
  /** Those that stand, oldest first. */
  connections(): readonly LongConnection[];
  /** The next so many connections are refused at their upgrade. */
  refuseUpgrades(count: number): void;
  /** The next so many connections stay without an answer to their upgrade. */
  keepSilent(count: number): void;
  /** Sends the next event in so many frames. */
  splitNextEvent(frames: number): void;
}

export interface LongConnection {
  /** Sends an event and waits for its answer, three seconds at most. */
  deliver(payload: JsonObject): Promise<EventAnswer>;
  /** How often the app has asked on it whether it still stands. */
  pings(): number;
  /** Any bytes as one message. */
  send(bytes: Buffer): void;
  /** Ends it with WebSocket's own goodbye. */
  close(): void;
  /** The network breaks. */
  cut(): void;
  /** Nothing goes through any more, and neither side is told. */
  freeze(): void;
}

/** `body` is what the app's handler returned, as text; null where it returned nothing. */
export type EventAnswer =
  | { readonly kind: 'answered'; readonly code: number; readonly body: string | null }
  | { readonly kind: 'late' }
  | { readonly kind: 'gone' };

const MOST_CONNECTIONS = 50;
const ANSWER_WITHIN_MS = 3_000;
const SERVICE = 33_554_678;

export class LongConnectionServer implements FeishuLongConnections {
  readonly #clock: Clock;
  readonly #upgrades = new WebSocketServer({ noServer: true });
  readonly #tickets = new Set<string>();
  readonly #connections = new Set<Connection>();
  readonly #upgraded = new Set<Socket>();
  #turn = 0;
  #refusals = 0;
  #silences = 0;
  #frames = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the upgrades of the platform's server. */
  attach(server: Server): void {
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
  }

  /** The endpoint's `data`: an address with a ticket for one connection, and how to behave on it. */
  issueAddress(port: number): JsonObject {
    const ticket = randomUUID();
    this.#tickets.add(ticket);
    const query = `device_id=${randomUUID()}&access_key=standin&service_id=${SERVICE}&ticket=${ticket}`;
    return {
      URL: `ws://127.0.0.1:${port}/ws/v2?${query}`,
      ClientConfig: { ReconnectCount: -1, ReconnectInterval: 120, ReconnectNonce: 30, PingInterval: 120 },
    };
  }

  connections(): readonly LongConnection[] {
    return [...this.#connections];
  }

  refuseUpgrades(count: number): void {
    this.#refusals = count;
  }

  keepSilent(count: number): void {
    this.#silences = count;
  }

  splitNextEvent(frames: number): void {
    this.#frames = frames;
  }

  /** Over one of the connections, in turn. */
  async deliver(payload: JsonObject): Promise<EventAnswer> {
    const standing = [...this.#connections];
    this.#turn += 1;
    const connection = standing[this.#turn % Math.max(1, standing.length)];
    return connection === undefined ? { kind: 'gone' } : connection.deliver(payload);
  }

  stop(): void {
    for (const socket of this.#upgraded) socket.destroy();
  }

  #takeFrames(): number {
    const frames = this.#frames;
    this.#frames = 1;
    return frames;
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => {});
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    const ticket = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams.get('ticket') ?? '';
    if (this.#silences > 0) {
      this.#silences -= 1;
      return;
    }
    const refuse = (code: number, message: string) => {
      const headers = `handshake-status: ${code}\r\nhandshake-msg: ${message}\r\n`;
      socket.end(`HTTP/1.1 400 Bad Request\r\n${headers}connection: close\r\ncontent-length: 0\r\n\r\n`);
    };
    if (!this.#tickets.delete(ticket)) {
      refuse(514, 'auth failed');
      return;
    }
    if (this.#refusals > 0 || this.#connections.size >= MOST_CONNECTIONS) {
      this.#refusals = Math.max(0, this.#refusals - 1);
      refuse(1000040350, 'exceed connection limit');
      return;
    }
    this.#upgrades.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new Connection(webSocket, socket, this.#clock, () => this.#takeFrames());
      this.#connections.add(connection);
      webSocket.once('close', () => this.#connections.delete(connection));
    });
  }
}

const eventAnswer = z.object({ code: z.int(), data: z.string().optional() });

class Connection implements LongConnection {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #takeFrames: () => number;
  readonly #waiting = new Map<string, (answer: EventAnswer) => void>();
  #pings = 0;

  constructor(webSocket: WebSocket, socket: Socket, clock: Clock, takeFrames: () => number) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#clock = clock;
    this.#takeFrames = takeFrames;
    webSocket.on('error', () => {});
    webSocket.on('message', (data) => this.#receive(Buffer.from(data as Buffer)));
    webSocket.once('close', () => {
      for (const finish of this.#waiting.values()) finish({ kind: 'gone' });
    });
  }

  deliver(payload: JsonObject): Promise<EventAnswer> {
    const id = randomUUID();
    return new Promise((resolve) => {
      const finish = (answer: EventAnswer) => {
        cancel();
        this.#waiting.delete(id);
        resolve(answer);
      };
      const cancel = this.#clock.setTimer(ANSWER_WITHIN_MS, () => finish({ kind: 'late' }));
      this.#waiting.set(id, finish);
      this.#sendEvent(id, Buffer.from(JSON.stringify(payload)));
    });
  }

  pings(): number {
    return this.#pings;
  }

  send(bytes: Buffer): void {
    this.#webSocket.send(bytes, () => {});
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

  #sendEvent(id: string, payload: Buffer): void {
    const frames = this.#takeFrames();
    const size = Math.ceil(payload.length / frames);
    for (let at = 0; at < frames; at += 1) {
      this.send(
        encodeFrame({
          sequence: 0n,
          log: 0n,
          service: SERVICE,
          method: 'data',
          headers: {
            type: 'event',
            message_id: id,
            sum: String(frames),
            seq: String(at),
            trace_id: id.replaceAll('-', ''),
            timestamp: String(this.#clock.now()),
          },
          payload: payload.subarray(at * size, (at + 1) * size),
        }),
      );
    }
  }

  #receive(bytes: Buffer): void {
    const frame = decodeFrame(bytes);
    if (frame === null) return;
    if (frame.method === 'data') {
      this.#waiting.get(frame.headers.message_id ?? '')?.(readAnswer(frame.payload));
    } else if (frame.headers.type === 'ping') {
      this.#pings += 1;
      const config = { ReconnectCount: -1, ReconnectInterval: 120, ReconnectNonce: 30, PingInterval: 120 };
      const payload = Buffer.from(JSON.stringify(config));
      this.send(encodeFrame({ ...frame, headers: { type: 'pong' }, payload }));
    }
  }
}

/** `{code, data?: base64}`; what cannot be read counts as the app's error. */
function readAnswer(bytes: Buffer): EventAnswer {
  try {
    const { code, data } = eventAnswer.parse(JSON.parse(bytes.toString()));
    const body = data === undefined ? null : Buffer.from(data, 'base64').toString();
    return { kind: 'answered', code, body };
  } catch {
    return { kind: 'answered', code: 500, body: null };
  }
}
