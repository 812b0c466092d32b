import { z } from 'zod';
import type { Card, RenderedCard } from '../../src/channel/card.ts';
import type {
  Channel,
  ChannelAddress,
  ChannelAnswer,
  ChannelHealth,
  DirectRecipient,
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
import type { CallbackReply, TapEvent } from '../../src/channel/inbound-event.ts';
import { onOneLine } from '../../src/channel/one-line.ts';
import { parseJson } from '../../src/channel/parse-json.ts';
import { RegularCheck } from '../../src/channel/regular-check.ts';
import { WorkUnderWay } from '../../src/channel/work-under-way.ts';
import { telegramAdvice } from './advice.ts';
import { createTelegramClient, type TelegramClient, toSendOutcome, toUpdateOutcome } from './client.ts';
import {
  botOf,
  TELEGRAM_TENANT,
  type TelegramSettings,
  telegramIdentity,
  telegramSettings,
} from './config.ts';
import { diagnoseTelegram } from './diagnose.ts';
import { cut, LIMITS, literal } from './limits.ts';
import { parseUpdate, type UpdateReader } from './parse.ts';
import { TelegramPolling } from './polling.ts';
import { renderCard } from './render.ts';
import { replyTo } from './reply.ts';
import { verifyTelegramRequest } from './verify.ts';

/** Cards in a Telegram chat; taps by webhook, or asked for by ourselves. */
export const telegramChannelKind: ChannelKind<TelegramSettings> = {
  kind: 'telegram',
  settings: telegramSettings,
  identity: telegramIdentity,
  secrets: (settings) => [
    settings.botToken,
    ...(settings.mode === 'webhook' ? [settings.webhookSecret] : []),
  ],
  create: (input) => new TelegramChannel(input),
};

/** "No more than 20 messages per minute to the same group" (core.telegram.org, "Bots FAQ"); for edits nothing is said. */
const paceOf = ({ messagesPerSecond }: TelegramSettings): ChannelPace => ({
  messages: { perSecond: messagesPerSecond, burst: 3 },
  changes: { perSecond: Math.max(messagesPerSecond, 1), burst: 5 },
});

class TelegramChannel implements Channel {
  readonly id: Channel['id'];
  readonly kind = 'telegram';
  readonly locale: Channel['locale'];
  readonly address: ChannelAddress;
  readonly pace: ChannelPace;
  readonly connection?: TelegramPolling;
  readonly #input: ChannelInput<TelegramSettings>;
  readonly #client: TelegramClient;
  readonly #reader: UpdateReader;
  readonly #check: RegularCheck;
  /** Answers to people; `stop` waits for them. */
  readonly #answers: WorkUnderWay;

  constructor(input: ChannelInput<TelegramSettings>) {
    const { settings, clock, logger } = input;
    const bot = botOf(settings);
    this.#input = input;
    this.#client = createTelegramClient({ ...settings, clock });
    this.#reader = { bot, botToken: settings.botToken };
    this.#answers = new WorkUnderWay(logger);
    this.#check = new RegularCheck({
      ask: (signal) => this.#checkBot(signal),
      ...{ platform: 'Telegram', clock, logger },
    });
    this.id = input.id;
    this.locale = input.locale;
    this.pace = paceOf(settings);
    this.address = { provider: 'telegram', app: bot, tenant: TELEGRAM_TENANT, chat: settings.chat };
    if (settings.mode === 'polling')
      this.connection = new TelegramPolling({ client: this.#client, reader: this.#reader, clock, logger });
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
    const { settings } = this.#input;
    if (settings.mode !== 'webhook') return { kind: 'refused', reason: 'updates are asked for' };
    const verification = verifyTelegramRequest({ request, webhookSecret: settings.webhookSecret });
    if (verification.kind === 'refused') return verification;
    return { kind: 'event', event: parseUpdate(parseJson(request.body.toString('utf8')), this.#reader) };
  }

  reply(event: TapEvent, reply: CallbackReply): ChannelAnswer {
    const { locale, logger, settings } = this.#input;
    const { botToken } = settings;
    const { answer, afterwards } = replyTo({ event, reply, locale, logger, botToken, client: this.#client });
    return afterwards === undefined
      ? { answer }
      : { answer, afterwards: () => this.#answers.track(afterwards()) };
  }

  render(card: Card, token: string): RenderedCard {
    return renderCard(card, token);
  }

  /**
   * Posts the card. Telegram has no idempotency key, and lets no bot read a chat: where an earlier attempt may have
   * arrived, this one can make a second card. Both carry the delivery's token; the first tap ties the other to it.
   */
  async send(delivery: OutgoingDelivery): Promise<SendOutcome> {
    const chat = this.#chatOf(delivery.direct);
    if (chat === null) return NO_ACCOUNT;
    const result = await this.#client.call({
      method: 'sendMessage',
      args: { chat_id: chat, ...messageOf(delivery) },
      signal: delivery.signal,
    });
    return sentOf(result, delivery.direct ? chat : null);
  }

  async update(delivery: OutgoingUpdate): Promise<UpdateOutcome> {
    const chat = this.#chatOf(delivery.direct);
    if (chat === null) return NO_ACCOUNT;
    if (!MESSAGE_ID.test(delivery.messageId))
      return { kind: 'refused', error: 'editMessageText: the message id is not one of Telegram' };
    const result = await this.#client.call({
      method: 'editMessageText',
      args: { chat_id: chat, message_id: Number(delivery.messageId), ...messageOf(delivery) },
      signal: delivery.signal,
    });
    return toUpdateOutcome(result);
  }

  /** A reply to the card. */
  async remind({ messageId, direct, text, quiet, signal }: OutgoingReminder): Promise<SendOutcome> {
    const chat = this.#chatOf(direct);
    if (chat === null) return NO_ACCOUNT;
    if (!MESSAGE_ID.test(messageId))
      return { kind: 'refused', error: 'sendMessage: the message id is not one of Telegram' };
    const result = await this.#client.call({
      method: 'sendMessage',
      args: {
        chat_id: chat,
        ...literal(cut(onOneLine(text), LIMITS.message, this.locale)),
        link_preview_options: { is_disabled: true },
        ...(quiet && { disable_notification: true }),
        reply_parameters: { message_id: Number(messageId), allow_sending_without_reply: true },
      },
      signal,
    });
    return sentOf(result, direct ? chat : null);
  }

  diagnose(input: DiagnosisInput): AsyncIterable<ChannelFinding> {
    const { settings, clock } = this.#input;
    const connection = this.connection ?? null;
    return diagnoseTelegram({ ...input, settings, clock, client: this.#client, connection });
  }

  advise = telegramAdvice;

  /** The chat of a direct message has the person's own number. */
  #chatOf(direct: DirectRecipient | null | undefined): string | null {
    return direct ? (direct.chat ?? direct.ids.user ?? null) : this.address.chat;
  }

  async #checkBot(signal: AbortSignal): Promise<ChannelHealth> {
    const result = await this.#client.call({ method: 'getMe', signal });
    if (result.kind === 'ok') return { ready: true, detail: `signed in as bot ${this.#reader.bot}` };
    // Limited is no fault: nothing is known against the token.
    const limited = result.kind === 'not-done' && result.retryAfterMs !== null;
    return { ready: limited, detail: result.error };
  }
}

const MESSAGE_ID = /^[1-9]\d{0,14}$/;
const NO_ACCOUNT = { kind: 'refused', error: 'no Telegram account of this person is known' } as const;

const cardPayload = z.object({
  text: z.string(),
  entities: z.array(z.unknown()),
  buttons: z.array(z.unknown()),
});

/** The buttons stand in one row; a message without any takes those that it had away. */
function messageOf({ rendered }: OutgoingDelivery) {
  const { text, entities, buttons } = cardPayload.parse(JSON.parse(rendered.payload));
  return {
    text,
    entities,
    link_preview_options: { is_disabled: true },
    reply_markup: { inline_keyboard: buttons.length === 0 ? [] : [buttons] },
  };
}

const postedMessage = z.object({ message_id: z.int().min(1) });

function sentOf(result: Awaited<ReturnType<TelegramClient['call']>>, chat: string | null): SendOutcome {
  if (result.kind !== 'ok') return toSendOutcome(result);
  const posted = postedMessage.safeParse(result.data).data;
  if (posted === undefined)
    return { kind: 'uncertain', error: 'sendMessage: answered without a readable message_id' };
  return { kind: 'sent', messageId: String(posted.message_id), ...(chat !== null && { chat }) };
}
