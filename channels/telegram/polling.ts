import type { Logger } from 'pino';
import { z } from 'zod';
import { boundedCall } from '../../src/channel/bounded-call.ts';
import type { ChannelAnswer, ChannelHealth } from '../../src/channel/channel.ts';
import {
  ConnectionSupervisor,
  type Link,
  type LinkEnd,
  type OpenedLink,
} from '../../src/channel/connection-supervisor.ts';
import type {
  ConnectionStatus,
  InboundConnection,
  InboundHandler,
} from '../../src/channel/inbound-connection.ts';
import { RecentAnswers } from '../../src/channel/recent-answers.ts';
import { type Clock, sleep } from '../../src/clock.ts';
import type { TelegramClient, TelegramResult } from './client.ts';
import { parseUpdate, type UpdateReader, updateId } from './parse.ts';

/** How long Telegram holds a question that it has nothing to say to. */
const HOLD_SECONDS = 25;
const POLL_TIMEOUT_MS = (HOLD_SECONDS + 10) * 1000;
/** A server that holds nothing must not be asked without end. */
const REST_MS = 200;
const ANSWER_WITHIN_MS = 5_000;

/**
 * Taps that we ask Telegram for (`getUpdates`): no port is open. An update counts as taken only once the next question
 * names a later one, which is after it was committed: what a crash or a stop leaves is delivered again, and changes
 * nothing a second time. Telegram lets one process a bot ask; for more, use a webhook.
 */
export class TelegramPolling implements InboundConnection {
  readonly #client: TelegramClient;
  readonly #reader: UpdateReader;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #supervisor: ConnectionSupervisor;
  readonly #answers = new RecentAnswers<ChannelAnswer>();
  #handler: InboundHandler | null = null;
  /** The first update that was not handled yet. */
  #offset = 0;

  constructor(input: {
    readonly client: TelegramClient;
    readonly reader: UpdateReader;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    const { client, reader, clock, logger } = input;
    this.#client = client;
    this.#reader = reader;
    this.#clock = clock;
    this.#logger = logger;
    this.#supervisor = new ConnectionSupervisor({
      size: 1,
      open: (signal) => this.#open(signal),
      clock,
      logger,
    });
  }

  open(handler: InboundHandler): void {
    this.#handler = handler;
    this.#supervisor.start();
  }

  status(): ConnectionStatus {
    return this.#supervisor.status();
  }

  async check(signal: AbortSignal): Promise<ChannelHealth> {
    const result = await this.#client.call({ method: 'getWebhookInfo', signal });
    if (result.kind !== 'ok') return { ready: false, detail: `polling: ${result.error}` };
    const { data } = webhookInfo.safeParse(result.data);
    if (data === undefined) return { ready: false, detail: 'polling: getWebhookInfo: unreadable answer' };
    return data.url === ''
      ? { ready: true, detail: 'polling: Telegram lets this bot ask for its updates' }
      : { ready: false, detail: 'polling: the bot has a webhook, and is refused until deleteWebhook' };
  }

  async close(): Promise<void> {
    await this.#supervisor.stop();
  }

  /** Open once Telegram has answered a first question, which it is not asked to hold. */
  async #open(signal: AbortSignal): Promise<OpenedLink> {
    const first = await this.#ask(0, signal);
    if (first.kind !== 'ok')
      return {
        kind: 'failed',
        reason: first.error,
        retryAfterMs: first.kind === 'not-done' ? first.retryAfterMs : null,
      };
    const stopping = new AbortController();
    const work = this.#run(first, stopping.signal);
    return {
      kind: 'open',
      link: {
        over: work,
        close: async () => {
          stopping.abort();
          await boundedCall({ clock: this.#clock, timeoutMs: ANSWER_WITHIN_MS, call: () => work });
        },
      } satisfies Link,
    };
  }

  async #run(first: TelegramResult, signal: AbortSignal): Promise<LinkEnd> {
    let answered = first;
    for (;;) {
      if (answered.kind !== 'ok') return { reason: answered.error, stillCarries: false };
      const { data: updates } = updateList.safeParse(answered.data);
      if (updates === undefined) return { reason: 'getUpdates: not a list', stillCarries: false };
      await Promise.all(updates.map((update) => this.#take(update)));
      // Not the highest ever seen: after a quiet week Telegram begins anywhere, also below.
      const ids = updates.map(updateId).filter((id) => id !== null);
      if (ids.length > 0) this.#offset = Math.max(...ids) + 1;
      // The only rejection is that of a stop.
      else await sleep(this.#clock, REST_MS, signal).catch(() => {});
      if (signal.aborted) return { reason: 'stopped', stillCarries: false };
      answered = await this.#ask(HOLD_SECONDS, signal);
    }
  }

  #ask(timeout: number, signal: AbortSignal): Promise<TelegramResult> {
    return this.#client.call({
      method: 'getUpdates',
      args: { offset: this.#offset, timeout, allowed_updates: ['callback_query', 'message'] },
      signal,
      timeoutMs: POLL_TIMEOUT_MS,
    });
  }

  /** Never rejects: one update that cannot be answered must not hold up the others. */
  async #take(update: unknown): Promise<void> {
    const handler = this.#handler;
    const id = updateId(update);
    if (handler === null || id === null) return;
    try {
      const event = parseUpdate(update, this.#reader);
      const { answer, repeated } = this.#answers.get(String(id), () => handler.handle(event));
      const { afterwards } = await answer;
      // Not waited for; the channel waits for it when it stops.
      if (!repeated) void afterwards?.();
    } catch (error) {
      this.#logger.error({ err: error }, 'an update of Telegram could not be handled');
    }
  }
}

const updateList = z.array(z.unknown());
const webhookInfo = z.object({ url: z.string() });
