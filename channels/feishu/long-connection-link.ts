import * as lark from '@larksuiteoapi/node-sdk';
import { boundedCall } from '../../src/channel/bounded-call.ts';
import type { Link, LinkEnd, OpenedLink } from '../../src/channel/connection-supervisor.ts';
import { type Clock, sleep } from '../../src/clock.ts';
import type { FeishuSettings } from './config.ts';
import { askForEndpoint } from './connection-endpoint.ts';

export interface LongConnectionLinkOptions {
  readonly settings: FeishuSettings;
  readonly clock: Clock;
  /** The answer to one event, as JSON. A rejection is answered with the platform's code 500. */
  readonly onEvent: (payload: unknown) => Promise<unknown>;
  readonly signal: AbortSignal;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Without it a connection that has died silently reads "connected" for ever. */
const PONG_WITHIN_SECONDS = 10;
/** The SDK tells nobody that a connection is gone, so its state is looked at. */
const LOOK_EVERY_MS = 1_000;
/** Feishu waits no longer for an answer. */
const ANSWER_WITHIN_MS = 3_000;
/** For the last answer to leave before the connection is torn down. */
const FLUSH_MS = 100;

/**
 * One of the SDK's long connections, for one connection's life: its own reconnecting is off, since it ends for good on
 * "system busy" and others. The client is given the address, an own logger that drops everything (it logs tickets and
 * payloads) and a dispatcher that hands the payload over as it came, with the header that the SDK's would flatten.
 */
export function openLongConnection(options: LongConnectionLinkOptions): Promise<OpenedLink> {
  return new SdkLink(options).opened;
}

class SdkLink implements Link {
  readonly opened: Promise<OpenedLink>;
  readonly over: Promise<LinkEnd>;
  readonly #options: LongConnectionLinkOptions;
  readonly #client: lark.WSClient;
  readonly #underWay = new Set<Promise<unknown>>();
  #settleOpened: (opened: OpenedLink) => void = () => {};
  #settleOver: (end: LinkEnd) => void = () => {};
  #refusal: { readonly reason: string; readonly retryAfterMs: number | null } = {
    reason: 'Feishu refused the connection',
    retryAfterMs: null,
  };
  #cancelLook: () => void = () => {};
  #closing: Promise<void> | null = null;

  constructor(options: LongConnectionLinkOptions) {
    const { settings, signal } = options;
    this.#options = options;
    this.opened = new Promise((resolve) => {
      this.#settleOpened = resolve;
    });
    this.over = new Promise((resolve) => {
      this.#settleOver = resolve;
    });
    this.#client = new lark.WSClient({
      appId: settings.appId,
      appSecret: settings.appSecret,
      domain: settings.domain,
      httpInstance: this.#endpoint(),
      logger: SILENT,
      autoReconnect: false,
      handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
      wsConfig: { pingTimeout: PONG_WITHIN_SECONDS },
      onReady: () => {
        this.#settleOpened({ kind: 'open', link: this });
        this.#look();
      },
      onError: () => this.#fail(this.#refusal.reason, this.#refusal.retryAfterMs),
    });
    keepIntervals(this.#client);
    const giveUp = () => this.#fail('Feishu takes too long to connect');
    signal.addEventListener('abort', giveUp, { once: true });
    void this.opened.then(() => signal.removeEventListener('abort', giveUp));
    if (signal.aborted) giveUp();
    else void this.#client.start({ eventDispatcher: new RawDispatcher((payload) => this.#take(payload)) });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { clock } = this.#options;
    this.#cancelLook();
    if (this.#underWay.size > 0 && this.#stands()) {
      await boundedCall({
        clock,
        timeoutMs: ANSWER_WITHIN_MS,
        call: () => Promise.allSettled(this.#underWay),
      });
      await sleep(clock, FLUSH_MS);
    }
    this.#client.close({ force: true });
  }

  /** The SDK asks it for the address and nothing else. */
  #endpoint(): lark.HttpInstance {
    const { settings, signal } = this.#options;
    const request = async () => {
      const answer = await askForEndpoint(settings, signal);
      if (answer.kind === 'refused') {
        this.#refusal = { reason: answer.error, retryAfterMs: answer.retryAfterMs };
        throw new Error('there is no address');
      }
      return { code: 0, msg: 'ok', data: { URL: answer.url, ClientConfig: answer.clientConfig } };
    };
    return { request } as unknown as lark.HttpInstance;
  }

  #take(payload: unknown): Promise<unknown> {
    const work = this.#options.onEvent(payload);
    this.#underWay.add(work);
    const done = () => this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }

  #look(): void {
    this.#cancelLook = this.#options.clock.setTimer(LOOK_EVERY_MS, () => {
      if (this.#stands()) this.#look();
      else this.#fail('the connection was lost');
    });
  }

  #stands(): boolean {
    return this.#client.getConnectionStatus().state === 'connected';
  }

  #fail(reason: string, retryAfterMs: number | null = null): void {
    this.#settleOpened({ kind: 'failed', reason, retryAfterMs });
    this.#settleOver({ reason, stillCarries: false });
    this.#cancelLook();
    this.#client.close({ force: true });
  }
}

/**
 * Each pong brings intervals anew, and the SDK takes them unchecked: a dead connection would be found after two minutes
 * again, and a pong without them makes it ping without pause. Those of the endpoint were checked, and stay.
 */
function keepIntervals(client: lark.WSClient): void {
  Object.assign(client, { handleControlData: async () => {} });
}

/** The SDK's own dispatcher merges header and event, and the callback's token over the verification token. */
class RawDispatcher extends lark.EventDispatcher {
  readonly #take: (payload: unknown) => Promise<unknown>;

  constructor(take: (payload: unknown) => Promise<unknown>) {
    super({ logger: SILENT });
    this.#take = take;
  }

  override async invoke(payload: unknown): Promise<unknown> {
    return this.#take(payload);
  }
}

const ignore = () => {};
const SILENT = { error: ignore, warn: ignore, info: ignore, debug: ignore, trace: ignore };
