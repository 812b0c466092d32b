import { z } from 'zod';
import type { ChannelIdentity } from '../../src/channel/channel-kind.ts';

const CHINA_DOMAIN = 'https://open.feishu.cn';

/** A value copied from the developer console. White space around it is a copying mistake, so it is refused. */
const consoleValue = (name: string) =>
  z
    .string()
    .min(1, `${name} is missing`)
    .max(256)
    .refine(
      (value) => value === value.trim() && !/[\r\n\0]/.test(value),
      `${name} has white space around it`,
    );

export type FeishuSettings = FeishuApp & FeishuWayIn;

interface FeishuApp {
  /** Without a trailing slash. */
  readonly domain: string;
  readonly appId: string;
  readonly appSecret: string;
  /** `tenant_key` of the organization that owns the chat. */
  readonly tenant: string;
  /** `oc_…`, the group that gets the cards. */
  readonly chat: string;
  /** How fast new messages go out to the group: all bots in it share one limit. */
  readonly messagesPerSecond: number;
}

/** How taps reach us, with what proves that they come from Feishu. */
export type FeishuWayIn =
  | { readonly mode: 'webhook'; readonly encryptKey: string; readonly verificationToken: string }
  /** We connect under the app's secret; what comes in there is neither signed nor encrypted. Empty: not compared. */
  | { readonly mode: 'long-connection'; readonly verificationToken: string };

/** In this shape alone the SDK connects. */
const CONNECTING_APP_ID = /^cli_[0-9a-fA-F]{16}$/;

/**
 * A `channels[]` entry with `kind: feishu`, beside `id` and `kind`. With webhooks every secret is required: without
 * the encrypt key a callback is not signed, and without the verification token the URL check proves nothing.
 */
export const feishuSettings: z.ZodType<FeishuSettings> = z
  .strictObject({
    /** The open platform: Feishu by default, `https://open.larksuite.com` for Lark, or a server on loopback. */
    domain: z
      .url({ protocol: /^https?$/, error: 'domain must be an http or https URL' })
      .refine(isBareBase, 'domain must have no user, query or fragment')
      .transform((value) => value.replace(/\/+$/, ''))
      .default(CHINA_DOMAIN),
    appId: consoleValue('appId'),
    appSecret: consoleValue('appSecret'),
    encryptKey: consoleValue('encryptKey').or(z.literal('')).default(''),
    verificationToken: consoleValue('verificationToken').or(z.literal('')).default(''),
    tenant: consoleValue('tenant'),
    chat: consoleValue('chat'),
    messagesPerSecond: z.number().min(0.05).max(100).default(5),
    mode: z
      .enum(['webhook', 'long-connection'], { error: 'mode must be webhook or long-connection' })
      .default('webhook'),
  })
  .transform(({ mode, encryptKey, verificationToken, ...app }, context): FeishuSettings => {
    const fault = (path: string, message: string): void => {
      context.issues.push({ code: 'custom', path: [path], message, input: app });
    };
    if (mode === 'long-connection') {
      if (!CONNECTING_APP_ID.test(app.appId))
        fault('appId', 'for a long connection appId must be cli_ and 16 hexadecimal digits');
      return { ...app, mode, verificationToken };
    }
    if (encryptKey === '') fault('encryptKey', 'encryptKey is missing');
    if (verificationToken === '') fault('verificationToken', 'verificationToken is missing');
    return { ...app, mode, encryptKey, verificationToken };
  });

/** The value of `people[].feishu`: a tenant and at least one of the person's ids in it. */
export const feishuIdentity = z
  .strictObject({
    tenant: consoleValue('tenant'),
    openId: consoleValue('openId').optional(),
    unionId: consoleValue('unionId').optional(),
    userId: consoleValue('userId').optional(),
    /** The company address in the directory, or the personal one where there is no other. */
    email: consoleValue('email').transform(emailId).optional(),
  })
  .refine(
    ({ openId, unionId, userId, email }) => openId ?? unionId ?? userId ?? email,
    'needs openId, unionId, userId or email',
  )
  .transform(({ tenant, ...known }): ChannelIdentity => {
    const ids = Object.entries(known).flatMap(([kind, id]) => (id ? [[kind, id]] : []));
    return { provider: 'feishu', tenant, ids: Object.fromEntries(ids) };
  });

/** Addresses are compared without regard to case. */
export function emailId(address: string): string {
  return address.toLowerCase();
}

function isBareBase(value: string): boolean {
  // What is no URL at all has been reported already.
  if (!URL.canParse(value)) return true;
  const { username, password, search, hash } = new URL(value);
  return username + password + search + hash === '';
}
