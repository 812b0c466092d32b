import { z } from 'zod';
import type { ChannelIdentity } from '../../src/channel/channel-kind.ts';

/** Telegram's accounts belong to no tenant: a user's id means the same person everywhere. */
export const TELEGRAM_TENANT = 'telegram';

const CHAT = /^-?[1-9]\d{0,15}$/;

export type TelegramSettings = TelegramBot & TelegramWayIn;

interface TelegramBot {
  /** Base of the Bot API, without a slash at its end. */
  readonly apiUrl: string;
  readonly botToken: string;
  readonly chat: string;
  /** How fast new messages go out to the chat. */
  readonly messagesPerSecond: number;
}

/** How taps reach us, with what proves that they come from Telegram. */
export type TelegramWayIn =
  /** Telegram calls us, and says the secret with each call. */
  | { readonly mode: 'webhook'; readonly webhookSecret: string }
  /** We ask Telegram under the bot's token. */
  | { readonly mode: 'polling' };

/** The keys of a `channels[]` entry of kind `telegram`. An empty `webhookSecret` counts as not given. */
export const telegramSettings: z.ZodType<TelegramSettings> = z
  .strictObject({
    apiUrl: z
      .url({ protocol: /^https?$/ })
      .default('https://api.telegram.org')
      .transform((url) => url.replace(/\/+$/, '')),
    botToken: z
      .string()
      .regex(/^[1-9]\d{0,15}:[A-Za-z0-9_-]{1,100}$/, 'has to be a bot token of @BotFather, like 123456:AA…'),
    webhookSecret: z
      .string()
      .regex(/^([A-Za-z0-9_-]{16,256})?$/, 'has to be 16 to 256 letters, digits, - or _')
      .default(''),
    chat: z.string().regex(CHAT, 'has to be the id of a Telegram chat in quotes, like "-1001234567890"'),
    messagesPerSecond: z
      .number()
      .min(0.05)
      .max(100)
      .default(1 / 3),
    mode: z.enum(['webhook', 'polling']).default('webhook'),
  })
  .transform(({ mode, webhookSecret, ...bot }, context): TelegramSettings => {
    const fault = (message: string): never => {
      context.issues.push({ code: 'custom', path: ['webhookSecret'], message, input: bot });
      return z.NEVER;
    };
    if (mode === 'webhook')
      return webhookSecret === ''
        ? fault('is required: callbacks are verified with it')
        : { ...bot, mode, webhookSecret };
    if (webhookSecret !== '') return fault('is for mode: webhook; leave it out, or set that mode');
    return { ...bot, mode };
  });

/** The value of `people[].telegram`. */
export const telegramIdentity: z.ZodType<ChannelIdentity> = z
  .strictObject({
    user: z
      .string()
      .regex(
        /^[1-9]\d{0,15}$/,
        'has to be the number of a Telegram account in quotes, like "123456" (not its name)',
      ),
  })
  .transform((ids) => ({ provider: 'telegram', tenant: TELEGRAM_TENANT, ids }));

/** A token begins with the id of its bot. */
export const botOf = ({ botToken }: Pick<TelegramSettings, 'botToken'>): string =>
  botToken.slice(0, botToken.indexOf(':'));
