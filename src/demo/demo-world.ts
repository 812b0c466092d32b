import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatFault } from '../config/config-fault.ts';
import { loadConfig } from '../config/load-config.ts';
import { createLogger } from '../http/logger.ts';
import type { Locale } from '../locale.ts';
import { CHANNEL_KINDS, HOOK_KINDS, secretsOf, startService } from '../main.ts';
import { type FeishuStandin, startFeishuStandin } from '../standin/feishu/start-feishu-standin.ts';
import { type SlackStandin, startSlackStandin } from '../standin/slack/start-slack-standin.ts';
import { CAST, FEISHU_TENANT, SLACK_WORKSPACE } from './cast.ts';
import { DEMO_POLICIES, demoConfiguration } from './demo-configuration.ts';
import { createDemoSecrets, type DemoSecrets, environmentOf } from './demo-secrets.ts';
import { type PaymentSystem, startPaymentSystem } from './payment-system.ts';
import { startScriptedModel } from './scripted-model.ts';
import { createServiceClient, type ServiceClient } from './service-client.ts';

/** A model that the demo is to use instead of its script. */
export interface RealModel {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/** Everything of one demo, running on loopback. */
export interface DemoWorld {
  readonly locale: Locale;
  /** How long a payment to `HASTY_PAYEE` may be decided. */
  readonly hastyDeadline: string;
  readonly serviceUrl: string;
  readonly service: ServiceClient;
  readonly secrets: DemoSecrets;
  readonly feishu: FeishuStandin;
  readonly slack: SlackStandin;
  readonly payments: PaymentSystem;
  /** Stops everything and removes the data. */
  stop(): Promise<void>;
}

/**
 * Starts the payment system, the model, both chats and the service, in this order: the service is the real one, set
 * up by a real configuration over an embedded database in a temporary folder. A throw leaves nothing running.
 */
export async function startDemoWorld(input: {
  readonly locale: Locale;
  readonly hastyDeadline: string;
  /** Null: the script. */
  readonly realModel: RealModel | null;
  /** In the place of the demo's own rules, as YAML. */
  readonly policies?: string;
}): Promise<DemoWorld> {
  const started: { stop(): Promise<void> }[] = [];
  const keep = <Part extends { stop(): Promise<void> }>(part: Part): Part => {
    started.push(part);
    return part;
  };
  const stop = async () => {
    for (const part of started.splice(0).reverse()) await part.stop();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), 'countersign-demo-'));
    keep({ stop: () => rm(folder, { recursive: true, force: true }) });
    return await startParts({ ...input, folder, keep, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startParts(input: {
  readonly locale: Locale;
  readonly hastyDeadline: string;
  readonly realModel: RealModel | null;
  readonly policies?: string;
  readonly folder: string;
  readonly keep: <Part extends { stop(): Promise<void> }>(part: Part) => Part;
  readonly stop: () => Promise<void>;
}): Promise<DemoWorld> {
  const { locale, folder, keep, stop } = input;
  const secrets = createDemoSecrets();
  const payments = keep(await startPaymentSystem({ token: secrets.OA_TOKEN }));
  const model = input.realModel ?? (await startScript(keep));
  let serviceUrl = '';
  const feishu = keep(
    await startFeishuStandin({
      ...FEISHU_TENANT,
      appSecret: secrets.FEISHU_APP_SECRET,
      encryptKey: secrets.FEISHU_ENCRYPT_KEY,
      verificationToken: secrets.FEISHU_VERIFICATION_TOKEN,
      users: CAST.map(({ name, feishuOpenId }) => ({
        name,
        openId: feishuOpenId,
        unionId: feishuOpenId.replace('ou_', 'on_'),
        language: locale === 'zh-CN' ? 'zh_cn' : 'en_us',
      })),
      callbackUrl: () => `${serviceUrl}/channels/pay-feishu/callback`,
    }),
  );
  const slack = keep(
    await startSlackStandin({
      ...SLACK_WORKSPACE,
      botToken: secrets.SLACK_BOT_TOKEN,
      signingSecret: secrets.SLACK_SIGNING_SECRET,
      users: CAST.map(({ name, slackUser }) => ({ id: slackUser, name })),
      callbackUrl: () => `${serviceUrl}/channels/pay-slack/callback`,
    }),
  );
  const text = demoConfiguration({
    locale,
    dataDir: join(folder, 'data'),
    feishuUrl: feishu.url,
    slackUrl: slack.url,
    paymentsUrl: payments.url,
    policies: input.policies ?? DEMO_POLICIES(input.hastyDeadline),
  });
  const { url } = keep(await startConfigured(text, { ...environmentOf(secrets), ...environmentFor(model) }));
  serviceUrl = url;
  return {
    locale,
    hastyDeadline: input.hastyDeadline,
    serviceUrl,
    service: createServiceClient({
      url,
      agentKey: secrets.PROCUREMENT_KEY,
      auditKey: secrets.AUDIT_KEY,
    }),
    secrets,
    feishu,
    slack,
    payments,
    stop,
  };
}

async function startScript(keep: <Part extends { stop(): Promise<void> }>(part: Part) => Part) {
  const { url } = keep(await startScriptedModel());
  return { baseUrl: url, apiKey: 'none-needed', model: 'scripted' };
}

const environmentFor = ({ baseUrl, apiKey, model }: RealModel) => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: apiKey,
  MODEL: model,
});

async function startConfigured(text: string, environment: Record<string, string>) {
  const fileName = 'countersign.yaml of the demo';
  const kinds = { channelKinds: CHANNEL_KINDS, hookKinds: HOOK_KINDS };
  const loaded = loadConfig({ text, fileName, environment, ...kinds });
  if (loaded.kind === 'faulty') {
    throw new Error(loaded.faults.map((fault) => formatFault(fileName, fault)).join('\n'));
  }
  const { config } = loaded;
  const logger = createLogger({ level: process.env.LOG_LEVEL ?? 'error', secrets: secretsOf(config) });
  return startService({ config, logger });
}
