import { z } from 'zod';
import type { ChannelHealth } from '../../src/channel/channel.ts';
import { checkClock } from '../../src/channel/check-clock.ts';
import {
  type ChannelFinding,
  type DiagnosisInput,
  failed,
  passed,
  verbatim,
} from '../../src/channel/diagnosis.ts';
import type { Clock } from '../../src/clock.ts';
import type { LocalizedText } from '../../src/locale.ts';
import { telegramAdvice } from './advice.ts';
import type { TelegramClient, TelegramResult } from './client.ts';
import { botOf, type TelegramSettings } from './config.ts';

/** Step by step what a bot needs: its token, the chat, the way in, the clock. Posts nothing. */
export async function* diagnoseTelegram(
  input: DiagnosisInput & {
    readonly settings: TelegramSettings;
    readonly client: TelegramClient;
    readonly clock: Clock;
    /** Asks whether Telegram would let this bot ask; null where Telegram calls us. */
    readonly connection: { check(signal: AbortSignal): Promise<ChannelHealth> } | null;
  },
): AsyncIterable<ChannelFinding> {
  const { settings, client, clock, connection, callbackUrl, signal } = input;
  const signedIn = await client.call({ method: 'getMe', signal });
  yield found(signedIn, {
    'zh-CN': `已登录，机器人 ${botOf(settings)}`,
    'en-US': `signed in as bot ${botOf(settings)}`,
  });
  const chat = await client.call({ method: 'getChat', args: { chat_id: settings.chat }, signal });
  yield found(chat, {
    'zh-CN': `机器人能看到聊天 ${settings.chat}`,
    'en-US': `the bot sees the chat ${settings.chat}`,
  });
  if (connection !== null) {
    const { ready, detail } = await connection.check(signal);
    yield ready
      ? passed({ 'zh-CN': '轮询：Telegram 允许此机器人取回更新', 'en-US': detail })
      : failed(verbatim(detail), telegramAdvice(detail) ?? DELETE_WEBHOOK);
  } else {
    yield calledAt(await client.call({ method: 'getWebhookInfo', signal }), callbackUrl);
  }
  yield await checkClock({ url: settings.apiUrl, clock, signal });
}

const found = (result: TelegramResult, text: LocalizedText): ChannelFinding =>
  result.kind === 'ok' ? passed(text) : failed(verbatim(result.error), telegramAdvice(result.error));

/** Telegram keeps the address that it calls, and what came of it last. It does not tell the secret. */
function calledAt(result: TelegramResult, callbackUrl: string): ChannelFinding {
  if (result.kind !== 'ok') return failed(verbatim(result.error), telegramAdvice(result.error));
  const { url = '', last_error_message: error } = webhookInfo.safeParse(result.data).data ?? {};
  if (url !== callbackUrl)
    return failed(
      {
        'zh-CN': url === '' ? '机器人没有设置 webhook' : `Telegram 调用的是另一个地址，不是 ${callbackUrl}`,
        'en-US': url === '' ? 'the bot has no webhook' : `Telegram calls another address than ${callbackUrl}`,
      },
      SET_WEBHOOK,
    );
  const text = { 'zh-CN': `Telegram 调用 ${url}`, 'en-US': `Telegram calls ${url}` };
  if (error === undefined) return passed(text);
  return passed(text, {
    'zh-CN': `Telegram 最近一次调用失败：${error}（401：secret_token 与 webhookSecret 不同）`,
    'en-US': `The last call that failed: ${error} (401: secret_token is not webhookSecret)`,
  });
}

const webhookInfo = z.object({ url: z.string(), last_error_message: z.string().max(500).optional() });

const SET_WEBHOOK = {
  'zh-CN':
    '用 setWebhook 设置 url 与 secret_token（docs/telegram.md 第 7 步）；publicUrl 须可从公网以 https 访问。',
  'en-US':
    'Call setWebhook with url and secret_token (docs/telegram.md, step 7); publicUrl has to be an https address on the internet.',
};
const DELETE_WEBHOOK = {
  'zh-CN': '调用 deleteWebhook，或改用 mode: webhook。',
  'en-US': 'Call deleteWebhook, or use mode: webhook.',
};
