import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { AnyChannelKind, ChannelKind } from '../../src/channel/channel-kind.ts';
import type { Config } from '../../src/config/config.ts';
import type { ConfigFault } from '../../src/config/config-fault.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load-config.ts';
import type { AnyHookKind, HookKind } from '../../src/hook/hook-kind.ts';
import { packageRoot } from '../../src/package-root.ts';

// The shape of the real kinds, without anything that talks to a platform.

const feishuSettings = z.strictObject({
  domain: z.url().default('https://open.feishu.cn'),
  appId: z.string().min(1),
  appSecret: z.string().min(1),
  encryptKey: z.string().min(1),
  verificationToken: z.string().min(1),
  tenant: z.string().min(1),
  chat: z.string().min(1),
  mode: z
    .enum(['webhook', 'long-connection'])
    .refine((mode) => mode === 'webhook', 'long-connection is not available in this version'),
});

const feishu: ChannelKind<z.infer<typeof feishuSettings>> = {
  kind: 'feishu',
  settings: feishuSettings,
  identity: z
    .strictObject({
      tenant: z.string().min(1),
      openId: z.string().optional(),
      unionId: z.string().optional(),
      userId: z.string().optional(),
    })
    .transform(({ tenant, ...ids }) => ({
      provider: 'feishu',
      tenant,
      ids: Object.fromEntries(Object.entries(ids).filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >,
    })),
  secrets: ({ appSecret, encryptKey, verificationToken }) => [appSecret, encryptKey, verificationToken],
  create: () => {
    throw new Error('A fixture opens no channel.');
  },
};

const slackSettings = z.strictObject({
  apiUrl: z.url().default('https://slack.com/api/'),
  botToken: z.string().min(1),
  signingSecret: z.string().min(1),
  appToken: z.string().optional(),
  team: z.string().min(1),
  appId: z.string().optional(),
  channel: z.string().min(1),
  mode: z
    .enum(['http', 'socket'])
    .refine((mode) => mode === 'http', 'socket is not available in this version'),
});

const slack: ChannelKind<z.infer<typeof slackSettings>> = {
  kind: 'slack',
  settings: slackSettings,
  identity: z
    .strictObject({ team: z.string().min(1), user: z.string().min(1) })
    .transform(({ team, user }) => ({ provider: 'slack', tenant: team, ids: { user } })),
  secrets: ({ botToken, signingSecret }) => [botToken, signingSecret],
  create: () => {
    throw new Error('A fixture opens no channel.');
  },
};

const truncate: HookKind<{ limit: number }> = {
  name: 'result-truncate',
  options: z.strictObject({ limit: z.int().positive().default(8_000) }),
  create: () => {
    throw new Error('A fixture builds no hook.');
  },
};

export const channelKinds: readonly AnyChannelKind[] = [feishu, slack];
export const hookKinds: readonly AnyHookKind[] = [truncate];

export const sampleText = readFileSync(join(packageRoot, 'countersign.example.yaml'), 'utf8');

export const sampleEnvironment: Readonly<Record<string, string>> = {
  PROCUREMENT_KEY: 'procurement-key-0123456789',
  AUDIT_KEY: 'audit-key-0123456789abcdef',
  LIWEI_KEY: 'liwei-key-0123456789abcdef',
  FEISHU_APP_SECRET: 'feishu-app-secret',
  FEISHU_ENCRYPT_KEY: 'feishu-encrypt-key',
  FEISHU_VERIFICATION_TOKEN: 'feishu-verification-token',
  SLACK_BOT_TOKEN: 'xoxb-slack-bot-token',
  SLACK_SIGNING_SECRET: 'slack-signing-secret',
  OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
  OPENAI_API_KEY: 'openai-api-key',
  MODEL: 'a-model',
  OA_TOKEN: 'oa-token',
};

export const load = (
  text: string,
  environment: Readonly<Record<string, string | undefined>> = sampleEnvironment,
): LoadedConfig => loadConfig({ text, fileName: 'countersign.yaml', environment, channelKinds, hookKinds });

export function loaded(
  text: string,
  environment = sampleEnvironment,
): { config: Config; warnings: readonly ConfigFault[] } {
  const result = load(text, environment);
  if (result.kind === 'faulty') throw new Error(`Faulty: ${JSON.stringify(result.faults, null, 2)}`);
  return result;
}

/** The faults as `path message`; an empty list for a configuration that loads. */
export function faultsOf(text: string, environment?: Readonly<Record<string, string | undefined>>): string[] {
  const result = load(text, environment);
  return result.kind === 'loaded' ? [] : result.faults.map(({ path, message }) => `${path} ${message}`);
}

/** The sample with one passage changed; throws where the passage is not in it. */
export function sampleWith(...changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [before, after]) => {
    if (!text.includes(before)) throw new Error(`Not in the sample: ${before}`);
    return text.replace(before, () => after);
  }, sampleText);
}
