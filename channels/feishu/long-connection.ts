import type { Logger } from 'pino';
import { z } from 'zod';
import type { ChannelHealth } from '../../src/channel/channel.ts';
import { ConnectionSupervisor } from '../../src/channel/connection-supervisor.ts';
import type {
  ConnectionStatus,
  InboundConnection,
  InboundHandler,
} from '../../src/channel/inbound-connection.ts';
import { RecentAnswers } from '../../src/channel/recent-answers.ts';
import type { Clock } from '../../src/clock.ts';
import type { FeishuSettings } from './config.ts';
import { askForEndpoint } from './connection-endpoint.ts';
import { openLongConnection } from './long-connection-link.ts';
import { parseCallback } from './parse.ts';
import { carriesForeignToken } from './verify.ts';

/** Feishu sends each callback over one of them; fifty are allowed an app, over all replicas. */
const CONNECTIONS = 2;

/**
 * Feishu's long connection: taps come in over connections that we open under the app's secret, which is what proves
 * that they come from Feishu and are this app's. What a payload says is checked as that of a signed callback is.
 */
export class FeishuLongConnection implements InboundConnection {
  readonly #settings: FeishuSettings & { readonly mode: 'long-connection' };
  readonly #supervisor: ConnectionSupervisor;
  readonly #answers = new RecentAnswers<unknown>();
  readonly #underWay = new Set<Promise<unknown>>();
  #handler: InboundHandler | null = null;

  constructor(input: {
    readonly settings: FeishuSettings & { readonly mode: 'long-connection' };
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    const { settings, clock, logger } = input;
    this.#settings = settings;
    this.#supervisor = new ConnectionSupervisor({
      size: CONNECTIONS,
      clock,
      logger,
      open: (signal) =>
        openLongConnection({ settings, clock, signal, onEvent: (payload) => this.#take(payload) }),
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
    const answer = await askForEndpoint(this.#settings, signal);
    return answer.kind === 'address'
      ? { ready: true, detail: 'long connection: Feishu lets this app connect' }
      : { ready: false, detail: `long connection: ${answer.error}` };
  }

  /** Ends the connections, and waits for what came in over them. */
  async close(): Promise<void> {
    await this.#supervisor.stop();
    await Promise.allSettled(this.#underWay);
  }

  async #take(payload: unknown): Promise<unknown> {
    const handler = this.#handler;
    if (handler === null) throw new Error('an event came before the connection was opened');
    const eventId = withEventId.safeParse(payload).data?.header.event_id;
    const work = () => this.#answerOf(payload, handler);
    const answer = eventId ? this.#answers.get(eventId, work).answer : work();
    this.#underWay.add(answer);
    try {
      return await answer;
    } finally {
      this.#underWay.delete(answer);
    }
  }

  async #answerOf(payload: unknown, handler: InboundHandler): Promise<unknown> {
    if (carriesForeignToken(payload, this.#settings.verificationToken)) {
      await handler.refuse('the verification token is wrong');
      throw new Error('refused');
    }
    const { answer } = await handler.handle(parseCallback(payload));
    return JSON.parse(answer.body);
  }
}

const withEventId = z.object({ header: z.object({ event_id: z.string().min(1).max(256) }) });
