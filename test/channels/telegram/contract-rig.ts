import { pino } from 'pino';
import { telegramChannelKind } from '../../../channels/telegram/index.ts';
import { readButtonData } from '../../../channels/telegram/wire.ts';
import type { ChannelAnswer, InboundRequest } from '../../../src/channel/channel.ts';
import type { TapEvent } from '../../../src/channel/inbound-event.ts';
import { channelId } from '../../../src/ids.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';
import {
  askForReason,
  type ChannelRig,
  captureEvents,
  httpCallback,
  type LackedFeatures,
  type RigTap,
  type SendFault,
} from '../channel-rig.ts';
import { SECRET_HEADER, startTelegramRig } from './telegram-rig.ts';

const BOT = '666:AAsecret-of-the-test';
const SECRET = 'a-secret-of-sixteen-and-more';
const CHAT = -100123;
const LI_WEI = { user: 1001, language: 'zh-hans' };

export const TELEGRAM_LACKS = {
  'signed bodies': 'Telegram says a secret with each call, and signs neither body nor time',
  'sending once': 'the Bot API has no idempotency key and lets no bot read a chat',
  'requests in buttons': 'the data of a button has 64 bytes; the token alone finds the delivery',
  'a directory': 'a Telegram account has one number, the same everywhere',
} as const satisfies LackedFeatures;

/** The real channel before an independent server of the Bot API; the channel on a manual clock. */
export async function startTelegramWebhookRig(): Promise<ChannelRig> {
  const { telegram, tapOn, replyToQuestion, ...rig } = await startRig('webhook');
  const { channel } = rig;
  telegram.callWebhook(BOT, { url: null, secret: SECRET });
  /** The webhook's call that `act` brings about. */
  const callOf = async (act: () => Promise<void>): Promise<InboundRequest> => {
    const before = telegram.webhookCalls.length;
    await act();
    return until(() => telegram.webhookCalls[before]);
  };
  const request = (tap: RigTap) => callOf(() => tapOn(tap));
  return {
    ...rig,
    tap: async (tap) => httpCallback(channel, await request(tap)),
    async tapWithReason({ reason, ...tap }) {
      await askForReason(channel, await httpCallback(channel, await request(tap)).arrive());
      return httpCallback(channel, await callOf(() => replyToQuestion(reason)));
    },
    wayIn: {
      kind: 'webhook',
      proofHeaders: [SECRET_HEADER],
      request,
      async requestOfAnotherApp(tap) {
        const { headers, body } = await request(tap);
        return { headers: { ...headers, [SECRET_HEADER]: 'the-secret-of-another-bot' }, body };
      },
    },
  };
}

/** The same where the channel asks for its updates. */
export async function startTelegramPollingRig(): Promise<ChannelRig> {
  const { telegram, tapOn, replyToQuestion, ...rig } = await startRig('polling');
  const { channel, clock } = rig;
  const core = captureEvents((event) => {
    if (event.type !== 'tap') throw new Error(`not a tap: ${event.what}`);
    return channel.reply(event, { kind: 'notice', notice: NOTICE });
  });
  /** Between two questions the channel rests, on its clock. */
  const inTime = (condition: () => boolean, deadlineMs = 10_000) =>
    until(
      () => {
        clock.advance(50);
        return condition();
      },
      { deadlineMs },
    );
  const fetched = () => inTime(() => !telegram.keepsUpdatesFor(BOT));
  /** The event that `act` brings in. */
  const eventOf = (act: () => Promise<unknown>) =>
    core.tapFrom(async () => {
      const before = core.events.length;
      await act();
      await inTime(() => core.events.length > before);
    });
  const again = {
    arrive: () =>
      core.tapFrom(async () => {
        telegram.redeliver(BOT);
        await fetched();
      }),
  };
  channel.connection?.open(core.handler);
  await until(() => channel.connection?.status().open === 1);
  const failQuestion = (code: number, description: string) => () =>
    telegram.fail('getUpdates', code, description);
  const cutQuestion = () => telegram.cut('getUpdates', { carriedOut: false });
  return {
    ...rig,
    async tap(tap) {
      await eventOf(() => tapOn(tap));
      return again;
    },
    async tapWithReason({ reason, ...tap }) {
      await askForReason(channel, await eventOf(() => tapOn(tap)));
      await eventOf(() => replyToQuestion(reason));
      return again;
    },
    wayIn: {
      kind: 'connection',
      faults: {
        'another process asks': failQuestion(409, 'Conflict: terminated by other getUpdates request'),
        'the token is not taken for a moment': failQuestion(401, 'Unauthorized'),
        'the network breaks': cutQuestion,
        'nothing goes through any more': () => {
          const before = telegram.callsOf('getUpdates').length;
          telegram.keepSilent('getUpdates');
          void inTime(() => telegram.callsOf('getUpdates').length > before).then(() => clock.advance(40_000));
        },
        'the platform lets nobody in for a while': () => {
          failQuestion(502, 'Bad Gateway')();
          cutQuestion();
          telegram.answer('getUpdates', 'no list');
        },
      },
      async press(tap) {
        const before = telegram.callsOf('answerCallbackQuery').length;
        const answered = () => telegram.callsOf('answerCallbackQuery').length > before;
        await tapOn(tap);
        try {
          await inTime(() => !telegram.keepsUpdatesFor(BOT), 2_000);
          await inTime(answered);
          return 'answered';
        } catch {
          return 'error';
        }
      },
      holdAnswers: core.holdAnswers,
      received: () => core.events.length,
    },
  };
}

async function startRig(mode: 'webhook' | 'polling') {
  const clock = new ManualClock();
  const telegram = await startTelegramRig({ chat: CHAT });
  const channel = telegramChannelKind.create({
    id: channelId('pay-telegram'),
    settings: telegramChannelKind.settings.parse({
      ...{ apiUrl: telegram.url, botToken: BOT, chat: String(CHAT), mode },
      ...(mode === 'webhook' && { webhookSecret: SECRET }),
    }),
    locale: 'zh-CN',
    clock,
    logger: pino({ level: 'silent' }),
  });
  await channel.start();
  const messages = () => telegram.messagesOf(BOT);
  return {
    telegram,
    channel,
    clock,
    personIds: { user: String(LI_WEI.user) },
    async tapOn({ messageId, action }: RigTap): Promise<void> {
      const message = messages().find((one) => String(one.messageId) === messageId);
      const button = message?.buttons.find(({ callback_data }) => actionIn(callback_data) === action);
      await telegram.tap(BOT, LI_WEI, Number(messageId), button?.callback_data ?? '');
    },
    async replyToQuestion(reason: string): Promise<void> {
      const question = messages().at(-1);
      if (question === undefined) throw new Error('the bot has asked nothing');
      await telegram.replyTo(BOT, LI_WEI, question, reason);
    },
    async told(_event: TapEvent, { afterwards }: ChannelAnswer): Promise<readonly string[]> {
      const before = telegram.callsOf('answerCallbackQuery').length;
      await afterwards?.();
      return telegram
        .callsOf('answerCallbackQuery')
        .slice(before)
        .map(({ args }) => String(args.text));
    },
    shown: () =>
      messages().map(({ messageId, text, buttons }) => ({
        messageId: String(messageId),
        text: [text, ...buttons.map((button) => button.text)].join('\n'),
        actions: buttons.flatMap(({ callback_data }) => actionIn(callback_data) ?? []),
      })),
    failNextSend(fault: SendFault) {
      if (fault === 'cut-after-accepting') telegram.cut('sendMessage', { carriedOut: true });
      else if (fault === 'server-error-after-accepting')
        telegram.fail('sendMessage', 502, 'Bad Gateway', {}, true);
      else if (fault === 'rate-limited') telegram.fail('sendMessage', 429, LIMITED, { retry_after: 7 });
      else telegram.fail('sendMessage', 403, 'Forbidden: bot was kicked from the supergroup chat');
    },
    failNextUpdate(fault: 'rate-limited' | 'refused') {
      if (fault === 'rate-limited') telegram.fail('editMessageText', 429, LIMITED, { retry_after: 7 });
      else telegram.fail('editMessageText', 400, 'Bad Request: message to edit not found');
    },
    stopPlatform: () => telegram.stop(),
    async stop() {
      await channel.stop();
      await telegram.stop();
    },
  };
}

const actionIn = (data: string) => readButtonData(data)?.action ?? null;
const LIMITED = 'Too Many Requests: retry after 7';
const NOTICE = { level: 'success', text: { 'zh-CN': '已记录', 'en-US': 'Recorded' } } as const;
