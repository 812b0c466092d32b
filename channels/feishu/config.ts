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

/**
 * A `channels[]` entry with `kind: feishu`, beside `id` and `kind`. Every secret is required: without the encrypt
 * key a callback is not signed, and without the verification token the URL check proves nothing.
 */
export const feishuSettings = z.strictObject({
  /** The open platform: Feishu by default, `https://open.larksuite.com` for Lark, or a server on loopback. */
  domain: z
    .url({ protocol: /^https?$/, error: 'domain must be an http or https URL' })
    .refine(isBareBase, 'domain must have no user, query or fragment')
    .transform((value) => value.replace(/\/+$/, ''))
    .default(CHINA_DOMAIN),
  appId: consoleValue('appId'),
  appSecret: consoleValue('appSecret'),
  encryptKey: consoleValue('encryptKey'),
  verificationToken: consoleValue('verificationToken'),
  /** `tenant_key` of the organization that owns the chat. */
  tenant: consoleValue('tenant'),
  /** `oc_…`, the group that gets the cards. */
  chat: consoleValue('chat'),
  /** How fast new messages go out to the group: all bots in it share one limit. */
  messagesPerSecond: z.number().min(0.05).max(100).default(5),
  mode: z
    .literal('webhook', {
      error: ({ input }) =>
        input === 'long-connection'
          ? 'long-connection is not available in this version; use webhook'
          : 'mode must be webhook',
    })
    .default('webhook'),
});
export type FeishuSettings = z.infer<typeof feishuSettings>;

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
