import WebSocket, { type RawData } from 'ws';
import { z } from 'zod';
import { assertNever } from '../../src/assert-never.ts';
import { boundedCall } from '../../src/channel/bounded-call.ts';
import type { Link, LinkEnd, OpenedLink } from '../../src/channel/connection-supervisor.ts';
import type { Clock } from '../../src/clock.ts';
import type { SlackClient } from './client.ts';
import { readFrame, type SocketEnvelope } from './socket-frames.ts';

/** One connection as the channel answers over it. */
export interface SocketLink extends Link {
  /** Whether an answer can still go out over it. */
  readonly isOpen: boolean;
  send(text: string): void;
}

export interface SocketLinkOptions {
  /** Calls under the app-level token. */
  readonly client: SlackClient;
  /** The Web API's address: a connection over TLS follows from one over TLS. */
  readonly apiUrl: string;
  /** Empty where it is not configured. */
  readonly appId: string;
  readonly clock: Clock;
  /** Handles one envelope and answers it. Never rejects. */
  readonly onEnvelope: (envelope: SocketEnvelope, link: SocketLink) => Promise<void>;
  readonly signal: AbortSignal;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A card's payload is far below; more is not Slack. */
const MAX_FRAME_BYTES = 2 ** 20;
/** Nothing heard for two of these, our own pings' answers included: the connection is dead, whatever TCP says. */
const PING_EVERY_MS = 5_000;
/** Slack waits no longer for an answer. */
const ANSWER_WITHIN_MS = 3_000;
/** For the other side to agree to the end. */
const CLOSE_WITHIN_MS = 1_000;

/**
 * Asks for a connection's address, connects and waits for Slack's `hello`. The address holds a ticket that lets
 * anybody in, so neither it nor an error that may quote it is told to anybody.
 */
export async function openSocketLink(options: SocketLinkOptions): Promise<OpenedLink<SocketLink>> {
  const { client, apiUrl, signal } = options;
  const answer = await client.call({ method: 'apps.connections.open', args: {}, signal });
  if (answer.kind !== 'ok') {
    const retryAfterMs = answer.kind === 'not-done' ? answer.retryAfterMs : null;
    return { kind: 'failed', reason: answer.error, retryAfterMs };
  }
  const url = openedConnection.safeParse(answer.data).data?.url;
  if (url === undefined || !isSocketAddress(url, apiUrl))
    return failed('apps.connections.open: answered without an address that can be used');
  return new Connection(options, url).opened;
}

class Connection implements SocketLink {
  readonly opened: Promise<OpenedLink<SocketLink>>;
  readonly over: Promise<LinkEnd>;
  readonly #options: SocketLinkOptions;
  readonly #socket: WebSocket;
  readonly #underWay = new Set<Promise<void>>();
  #settleOpened: (opened: OpenedLink<SocketLink>) => void = () => {};
  #settleOver: (end: LinkEnd) => void = () => {};
  #greeted = false;
  #heard = true;
  #cancelPing: () => void = () => {};
  #closing: Promise<void> | null = null;

  constructor(options: SocketLinkOptions, url: string) {
    this.#options = options;
    this.opened = new Promise((resolve) => {
      this.#settleOpened = resolve;
    });
    this.over = new Promise((resolve) => {
      this.#settleOver = resolve;
    });
    this.#socket = new WebSocket(url, {
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      followRedirects: false,
    });
    const giveUp = () => this.#fail('Slack did not say hello in time');
    options.signal.addEventListener('abort', giveUp, { once: true });
    void this.opened.then(() => options.signal.removeEventListener('abort', giveUp));
    if (options.signal.aborted) giveUp();
    this.#socket.on('unexpected-response', (_request, response) =>
      this.#fail(`Slack refused the connection (HTTP ${response.statusCode ?? 'without a status'})`),
    );
    // `close` follows each error and says the rest; without a listener an error would end the process.
    this.#socket.on('error', () => {});
    this.#socket.on('close', (code) => this.#fail(`the connection was lost (${code})`));
    for (const sign of ['ping', 'pong'] as const) this.#socket.on(sign, () => this.#hear());
    this.#socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  send(text: string): void {
    // The callback takes what would else be thrown; a lost answer is Slack's to show.
    this.#socket.send(text, () => {});
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { clock } = this.#options;
    await boundedCall({ clock, timeoutMs: ANSWER_WITHIN_MS, call: () => Promise.all(this.#underWay) });
    this.#cancelPing();
    if (this.isOpen) {
      const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
      this.#socket.close(1000);
      // What still arrives meanwhile is handled, and answered over another connection.
      await boundedCall({ clock, timeoutMs: CLOSE_WITHIN_MS, call: () => closed });
    }
    this.#socket.terminate();
  }

  #receive(data: RawData, isBinary: boolean): void {
    this.#hear();
    const frame = isBinary ? ({ type: 'unreadable' } as const) : readFrame(data.toString());
    switch (frame.type) {
      case 'hello':
        this.#greet(frame.appId);
        break;
      case 'disconnect':
        this.#bidFarewell(`Slack asked for it: ${frame.reason}`);
        break;
      case 'envelope':
        this.#take(frame);
        break;
      case 'unreadable':
        break;
      default:
        assertNever(frame);
    }
  }

  #greet(appId: string | null): void {
    const { appId: expected } = this.#options;
    if (!this.isOpen) return;
    if (expected !== '' && appId !== null && appId !== expected) {
      this.#fail(`the app token belongs to ${printable(appId)}, not to ${expected}`);
      return;
    }
    this.#greeted = true;
    this.#settleOpened({ kind: 'open', link: this });
    this.#schedulePing();
  }

  #bidFarewell(reason: string): void {
    if (this.#greeted) this.#settleOver({ reason, stillCarries: true });
    else this.#fail(reason);
  }

  #take(envelope: SocketEnvelope): void {
    const work = this.#options.onEnvelope(envelope, this);
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
  }

  #hear(): void {
    this.#heard = true;
  }

  #schedulePing(): void {
    this.#cancelPing();
    this.#cancelPing = this.#options.clock.setTimer(PING_EVERY_MS, () => {
      if (!this.#heard) {
        this.#fail('nothing came back over the connection any more');
        return;
      }
      this.#heard = false;
      if (this.isOpen) this.#socket.ping(() => {});
      this.#schedulePing();
    });
  }

  /** The connection carries nothing more. */
  #fail(reason: string): void {
    this.#settleOpened(failed(reason));
    this.#settleOver({ reason, stillCarries: false });
    this.#cancelPing();
    this.#socket.terminate();
  }
}

const openedConnection = z.object({ url: z.url({ protocol: /^wss?$/ }) });

/** The ticket in it must not travel in the clear, unless everything does (a server on loopback). */
const isSocketAddress = (url: string, apiUrl: string): boolean =>
  url.startsWith('wss:') || apiUrl.startsWith('http:');

const failed = (reason: string): OpenedLink<SocketLink> => ({ kind: 'failed', reason, retryAfterMs: null });

const printable = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '?').slice(0, 40);
