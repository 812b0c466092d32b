import type { Logger } from 'pino';
import type { ChannelAnswer, ChannelHealth } from '../../src/channel/channel.ts';
import { ConnectionSupervisor } from '../../src/channel/connection-supervisor.ts';
import type {
  ConnectionStatus,
  InboundConnection,
  InboundHandler,
} from '../../src/channel/inbound-connection.ts';
import { RecentAnswers } from '../../src/channel/recent-answers.ts';
import type { Clock } from '../../src/clock.ts';
import { createSlackClient, type SlackClient } from './client.ts';
import type { SlackSettings } from './config.ts';
import { parsePayload } from './parse.ts';
import { type SocketEnvelope, writeAnswer } from './socket-frames.ts';
import { openSocketLink, type SocketLink } from './socket-link.ts';

/** Slack sends each payload over one of them; ten are allowed an app, over all replicas. */
const CONNECTIONS = 2;

/**
 * Slack's Socket Mode: taps come in over connections that we open under the app-level token, which is what proves
 * that they come from Slack and are this app's. What a payload says is checked as that of a signed callback is.
 * Why not the SDK's client: docs/decisions/0016-own-slack-socket.md.
 */
export class SlackSocketMode implements InboundConnection {
  readonly #client: SlackClient;
  readonly #supervisor: ConnectionSupervisor;
  readonly #answers = new RecentAnswers<ChannelAnswer>();
  /** Where answers can go out. */
  readonly #links = new Set<SocketLink>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #logger: Logger;
  #handler: InboundHandler | null = null;

  constructor(input: {
    readonly settings: SlackSettings & { readonly mode: 'socket' };
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    const { settings, clock, logger } = input;
    const { apiUrl, appId, appToken } = settings;
    this.#logger = logger;
    const client = createSlackClient({ apiUrl, botToken: appToken });
    this.#client = client;
    this.#supervisor = new ConnectionSupervisor({
      size: CONNECTIONS,
      clock,
      logger,
      open: async (signal) => {
        const opened = await openSocketLink({
          ...{ client, apiUrl, appId, clock, signal },
          onEnvelope: (envelope, link) => this.#track(this.#take(envelope, link)),
        });
        if (opened.kind === 'open') this.#remember(opened.link);
        return opened;
      },
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
    const result = await this.#client.call({ method: 'apps.connections.open', args: {}, signal });
    return result.kind === 'ok'
      ? { ready: true, detail: 'Socket Mode: Slack lets this app connect' }
      : { ready: false, detail: `Socket Mode: ${result.error}` };
  }

  /** Ends the connections, and waits for what came in over them. */
  async close(): Promise<void> {
    await this.#supervisor.stop();
    await Promise.all(this.#underWay);
  }

  async #take(envelope: SocketEnvelope, link: SocketLink): Promise<void> {
    const handler = this.#handler;
    if (handler === null) return;
    const { event } = parsePayload(envelope.payload);
    const { answer, repeated } = this.#answers.get(envelope.id, () => handler.handle(event));
    const { answer: http, afterwards } = await answer;
    this.#answer(writeAnswer(envelope, http), link);
    // Not waited for: the connection may close as soon as the answer is out. The channel waits for it when it stops.
    if (!repeated) void afterwards?.();
  }

  /** Over the connection that brought the envelope, or, where that has closed, over the other one. */
  #answer(text: string, broughtBy: SocketLink): void {
    const open = [broughtBy, ...this.#links].find((link) => link.isOpen);
    if (open) open.send(text);
    else this.#logger.warn('an answer found no connection; what it answers is committed');
  }

  #remember(link: SocketLink): void {
    for (const known of this.#links) if (!known.isOpen) this.#links.delete(known);
    this.#links.add(link);
  }

  async #track(work: Promise<void>): Promise<void> {
    const quiet = work.catch((error: unknown) =>
      this.#logger.error({ err: error }, 'an envelope of Slack could not be answered'),
    );
    this.#underWay.add(quiet);
    await quiet;
    this.#underWay.delete(quiet);
  }
}
