import { z } from 'zod';
import type { Card, RenderedCard } from '../../src/channel/card.ts';
import type {
  Channel,
  ChannelAddress,
  ChannelAnswer,
  ChannelHealth,
  InboundRequest,
  InboundResult,
  OutgoingDelivery,
  OutgoingReminder,
  OutgoingUpdate,
  SendOutcome,
  UpdateOutcome,
} from '../../src/channel/channel.ts';
import type { ChannelInput, ChannelKind } from '../../src/channel/channel-kind.ts';
import type { ChannelPace } from '../../src/channel/chat-pace.ts';
import type { ChannelFinding, DiagnosisInput } from '../../src/channel/diagnosis.ts';
import { withConnections } from '../../src/channel/inbound-connection.ts';
import type { CallbackReply, ChannelActor, TapEvent } from '../../src/channel/inbound-event.ts';
import { RegularCheck } from '../../src/channel/regular-check.ts';
import { WorkUnderWay } from '../../src/channel/work-under-way.ts';
import { slackAdvice } from './advice.ts';
import {
  createSlackClient,
  type SlackClient,
  type SlackResult,
  toHealth,
  toSendOutcome,
  toUpdateOutcome,
} from './client.ts';
import { SLACK_ID, type SlackSettings, slackIdentity, slackSettings } from './config.ts';
import { diagnoseSlack } from './diagnose.ts';
import { type OpenedChat, openDirectMessage } from './direct-message.ts';
import { resolveMember } from './directory.ts';
import { slackManifest } from './manifest.ts';
import { parseCallback } from './parse.ts';
import { createPersonLocales, type PersonLocales } from './person-locale.ts';
import { remindInThread } from './remind.ts';
import { renderCard } from './render.ts';
import { replyTo } from './reply.ts';
import { SlackSocketMode } from './socket-mode.ts';
import { verifySlackRequest } from './verify.ts';
import { CARD_EVENT_TYPE } from './wire.ts';

/** Cards in a Slack channel; taps by signed callback, or over connections of our own (Socket Mode). */
export const slackChannelKind: ChannelKind<SlackSettings> = {
  kind: 'slack',
  settings: slackSettings,
  identity: slackIdentity,
  secrets: (settings) => [
    settings.botToken,
    settings.mode === 'socket' ? settings.appToken : settings.signingSecret,
  ],
  create: (input) => new SlackChannel(input),
  manifest: slackManifest,
};

/**
 * "No more than one message per second per channel" of `chat.postMessage`; `chat.update` is of tier 3, 50 a minute
 * with bursts (docs.slack.dev, "Rate limits").
 */
const paceOf = ({ messagesPerSecond }: SlackSettings): ChannelPace => ({
  messages: { perSecond: messagesPerSecond, burst: 1 },
  changes: { perSecond: Math.max(messagesPerSecond, 50 / 60), burst: 10 },
});

/** How many pages of the channel's history a look-up reads before it gives up without an answer. */
const LOOK_UP_PAGES = 5;
const LOOK_UP_PAGE = 200;
/** A card cannot be older than its delivery; the margin covers clocks that differ. */
const LOOK_UP_MARGIN_MS = 600_000;

class SlackChannel implements Channel {
  readonly id: Channel['id'];
  readonly kind = 'slack';
  readonly locale: Channel['locale'];
  readonly address: ChannelAddress;
  readonly pace: ChannelPace;
  readonly connection?: SlackSocketMode;
  readonly #input: ChannelInput<SlackSettings>;
  readonly #client: SlackClient;
  readonly #locales: PersonLocales;
  readonly #check: RegularCheck;
  /** Ephemerals and modals; `stop` waits for them. */
  readonly #answers: WorkUnderWay;

  constructor(input: ChannelInput<SlackSettings>) {
    const { settings, clock, logger } = input;
    const client = createSlackClient(settings);
    this.#input = input;
    this.#client = client;
    this.#locales = createPersonLocales({ client, fallback: input.locale, clock });
    this.#answers = new WorkUnderWay(logger);
    this.#check = new RegularCheck({
      ask: async (signal) =>
        toHealth(await client.call({ method: 'auth.test', args: {}, signal }), settings.team),
      ...{ platform: 'Slack', clock, logger },
    });
    this.id = input.id;
    this.locale = input.locale;
    this.pace = paceOf(settings);
    this.address = { provider: 'slack', app: settings.appId, tenant: settings.team, chat: settings.channel };
    if (settings.mode === 'socket') this.connection = new SlackSocketMode({ ...input, settings });
  }

  async start(): Promise<void> {
    this.#check.start();
  }

  async stop(): Promise<void> {
    await this.connection?.close();
    await Promise.all([this.#answers.ended(), this.#check.stop()]);
  }

  health(): ChannelHealth {
    return withConnections(this.#check.health(), this.connection?.status());
  }

  async receive(request: InboundRequest): Promise<InboundResult> {
    const { settings, clock } = this.#input;
    if (settings.mode !== 'http') return { kind: 'refused', reason: 'taps come over the socket' };
    const verification = verifySlackRequest({
      request,
      signingSecret: settings.signingSecret,
      nowMs: clock.now(),
    });
    if (verification.kind === 'refused') return verification;
    const parsed = parseCallback(request.body);
    if (parsed.kind === 'event') return parsed;
    const body = parsed.kind === 'challenge' ? JSON.stringify({ challenge: parsed.challenge }) : '';
    const contentType = parsed.kind === 'challenge' ? 'application/json' : 'text/plain';
    return { kind: 'answered', answer: { status: 200, contentType, body } };
  }

  reply(event: TapEvent, reply: CallbackReply): ChannelAnswer {
    const { answer, afterwards } = replyTo({
      ...this.#input,
      event,
      reply,
      client: this.#client,
      locales: this.#locales,
    });
    return afterwards === undefined
      ? { answer }
      : { answer, afterwards: () => this.#answers.track(afterwards()) };
  }

  resolve({ actor, signal }: { readonly actor: ChannelActor; readonly signal: AbortSignal }) {
    return resolveMember({ actor, client: this.#client, team: this.address.tenant, signal });
  }

  render(card: Card, token: string): RenderedCard {
    return renderCard(card, token);
  }

  /**
   * Posts the card. Slack has no idempotency key, so a further attempt first looks for the card of an earlier one
   * by its metadata, and never posts while that look-up gives no answer.
   */
  async send(delivery: OutgoingDelivery): Promise<SendOutcome> {
    const opened = await this.#chatOf(delivery);
    if (opened.kind !== 'opened') return opened;
    const { chat } = opened;
    if (delivery.attempt > 1) {
      const earlier = await this.#findEarlier(delivery, chat);
      if (earlier.kind !== 'none') return earlier;
    }
    const result = await this.#call('chat.postMessage', delivery, {
      channel: chat,
      unfurl_links: false,
      unfurl_media: false,
    });
    if (result.kind !== 'ok') return toSendOutcome(result);
    const posted = postedMessage.safeParse(result.data);
    if (posted.success) return { kind: 'sent', messageId: posted.data.ts, ...(delivery.direct && { chat }) };
    // It was posted; the next attempt's look-up learns its `ts`.
    return { kind: 'uncertain', error: 'chat.postMessage: answered without a readable ts' };
  }

  async update(delivery: OutgoingUpdate): Promise<UpdateOutcome> {
    if (!SLACK_ID.timestamp.test(delivery.messageId)) {
      return { kind: 'refused', error: 'chat.update: the message id is not a Slack ts' };
    }
    const opened = await this.#chatOf(delivery);
    if (opened.kind !== 'opened') return opened;
    const change = { channel: opened.chat, ts: delivery.messageId };
    return toUpdateOutcome(await this.#call('chat.update', delivery, change));
  }

  async remind(reminder: OutgoingReminder): Promise<SendOutcome> {
    const opened = await this.#chatOf(reminder);
    if (opened.kind !== 'opened') return opened;
    const { chat } = opened;
    return remindInThread({ reminder, chat, client: this.#client, locale: this.locale });
  }

  diagnose(input: DiagnosisInput): AsyncIterable<ChannelFinding> {
    const { settings, clock } = this.#input;
    return diagnoseSlack({
      ...input,
      settings,
      clock,
      client: this.#client,
      connection: this.connection ?? null,
    });
  }

  advise = slackAdvice;

  /** The channel, or the direct message with one person. */
  async #chatOf({ direct, signal }: Pick<OutgoingReminder, 'direct' | 'signal'>): Promise<OpenedChat> {
    if (!direct) return { kind: 'opened', chat: this.address.chat };
    if (direct.chat !== null) return { kind: 'opened', chat: direct.chat };
    return openDirectMessage({ ids: direct.ids, client: this.#client, signal });
  }

  #call(method: string, delivery: OutgoingDelivery, more: Readonly<Record<string, unknown>>) {
    const { text, blocks } = cardPayload.parse(JSON.parse(delivery.rendered.payload));
    return this.#client.call({
      method,
      args: {
        text,
        blocks,
        metadata: { event_type: CARD_EVENT_TYPE, event_payload: { delivery: delivery.id } },
        parse: 'none',
        link_names: false,
        ...more,
      },
      signal: delivery.signal,
    });
  }

  /**
   * The card that an earlier attempt posted, brought to what this attempt shows. `none` only where the whole time
   * since the delivery was created was read and it is not there.
   */
  async #findEarlier(
    delivery: OutgoingDelivery,
    chat: string,
  ): Promise<SendOutcome | { readonly kind: 'none' }> {
    let cursor: string | undefined;
    for (let page = 0; page < LOOK_UP_PAGES; page += 1) {
      const result = await this.#client.call({
        method: 'conversations.history',
        args: {
          channel: chat,
          include_all_metadata: true,
          oldest: oldestOf(delivery.id),
          limit: LOOK_UP_PAGE,
          ...(cursor === undefined ? {} : { cursor }),
        },
        signal: delivery.signal,
      });
      if (result.kind !== 'ok') return notKnown(result);
      const history = historyPage.safeParse(result.data).data;
      if (history === undefined) break;
      for (const message of history.messages) {
        const { event_type, event_payload } = message.metadata ?? {};
        if (event_type !== CARD_EVENT_TYPE || event_payload?.delivery !== delivery.id) continue;
        const found = await this.#adopt(delivery, chat, message.ts);
        if (found !== null) return found;
      }
      cursor = history.response_metadata?.next_cursor || undefined;
      if (cursor === undefined && history.has_more !== true) return { kind: 'none' };
      if (cursor === undefined) break;
    }
    // Too many messages, or an answer that could not be read.
    return { kind: 'uncertain', error: 'conversations.history: not read to the end' };
  }

  /**
   * Takes the message as ours only if we can change it: another app may copy our metadata, but not let us write to
   * its message. The change also makes it show what this attempt was to show.
   */
  async #adopt(delivery: OutgoingDelivery, chat: string, ts: string): Promise<SendOutcome | null> {
    const result = await this.#call('chat.update', delivery, { channel: chat, ts });
    if (result.kind === 'ok') return { kind: 'sent', messageId: ts, ...(delivery.direct && { chat }) };
    if (result.kind === 'refused' && NOT_OURS.has(result.code)) return null;
    return notKnown(result);
  }
}

const cardPayload = z.object({ text: z.string(), blocks: z.array(z.unknown()) });
const postedMessage = z.object({ ts: z.string().regex(SLACK_ID.timestamp) });
const historyPage = z.object({
  messages: z.array(
    z.object({
      ts: z.string().regex(SLACK_ID.timestamp),
      metadata: z
        .object({ event_type: z.string(), event_payload: z.record(z.string(), z.unknown()) })
        .partial()
        .nullish(),
    }),
  ),
  has_more: z.boolean().optional(),
  response_metadata: z.object({ next_cursor: z.string().nullish() }).optional(),
});

const NOT_OURS: ReadonlySet<string> = new Set(['cant_update_message', 'message_not_found']);

/** Nothing was sent by this attempt, and nothing is known of the earlier ones: they stay on record as possibly arrived. */
const notKnown = (result: Exclude<SlackResult, { kind: 'ok' }>): SendOutcome =>
  result.kind === 'not-done' ? toSendOutcome(result) : { kind: 'uncertain', error: result.error };

/** Slack's `oldest`: when the delivery was created, as its UUIDv7 says, less a margin. */
function oldestOf(deliveryId: string): string {
  if (deliveryId.charAt(14) !== '7') return '0';
  const createdMs = Number.parseInt(deliveryId.replaceAll('-', '').slice(0, 12), 16);
  return (Math.max(0, createdMs - LOOK_UP_MARGIN_MS) / 1000).toFixed(6);
}
