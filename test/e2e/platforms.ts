import { type FeishuStandin, startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { type SlackStandin, startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';

/** Both platforms on loopback. Where their callbacks go can change: services come and go. */
export interface Platforms {
  readonly slack: SlackStandin;
  readonly feishu: FeishuStandin;
  /** Base URL of the service that the next callbacks are sent to. */
  serviceUrl: string;
  stop(): Promise<void>;
}

export const SLACK_USERS = { 'li.wei': 'U0LIWEI', 'wang.fang': 'U0WANG', 'zhao.min': 'U0ZHAO' } as const;
export const FEISHU_USERS = { 'li.wei': 'ou_liwei', 'wang.fang': 'ou_wang' } as const;

export const KEYS = {
  agent: 'key-of-the-procurement-agent',
  auditor: 'key-of-the-audit-desk',
  admin: 'key-of-the-administrators',
  liWei: 'console-key-of-li-wei',
  wangFang: 'console-key-of-wang-fang',
} as const;

export async function startPlatforms(): Promise<Platforms> {
  const at = (channel: string) => () => `${platforms.serviceUrl}/channels/${channel}/callback`;
  const slack = await startSlackStandin({
    botToken: 'xoxb-standin',
    signingSecret: 'slack-signing-secret',
    appId: 'A0COUNTER',
    team: 'T0ACME',
    channel: 'C0FINANCE',
    users: Object.entries(SLACK_USERS).map(([name, id]) => ({ id, name })),
    callbackUrl: at('pay-slack'),
  });
  const feishu = await startFeishuStandin({
    appId: 'cli_a1b2c3d4e5f60718',
    appSecret: 'feishu-app-secret',
    encryptKey: 'feishu-encrypt-key',
    verificationToken: 'feishu-verification-token',
    tenant: '2f0acme',
    chat: 'oc_finance',
    users: Object.entries(FEISHU_USERS).map(([name, openId]) => ({ openId, unionId: `on_${name}`, name })),
    callbackUrl: at('pay-feishu'),
  });
  const platforms: Platforms = {
    slack,
    feishu,
    serviceUrl: '',
    stop: async () => void (await Promise.all([slack.stop(), feishu.stop()])),
  };
  return platforms;
}

/** A configuration for these platforms; `changes` are further top-level keys in YAML. */
export const yamlFor = (input: {
  readonly platforms: Platforms;
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly changes?: string;
}): string => `
organization: acme
listen: { host: 127.0.0.1, port: 0 }
${input.databaseUrl === '' ? '' : `database: ${input.databaseUrl}`}
dataDir: ${input.dataDir}
locale: zh-CN
timeZone: Asia/Shanghai
apiKeys:
  - { id: procurement, key: ${KEYS.agent}, role: agent, agents: [procurement], requesters: ["*"] }
  - { id: audit-desk, key: ${KEYS.auditor}, role: auditor }
  - { id: admins, key: ${KEYS.admin}, role: admin }
people:
  - { id: li.wei, name: 李伟, groups: [finance], consoleKey: ${KEYS.liWei}, roles: [operator], slack: { team: T0ACME, user: U0LIWEI }, feishu: { tenant: 2f0acme, openId: ou_liwei } }
  - { id: wang.fang, name: 王芳, groups: [finance], consoleKey: ${KEYS.wangFang}, slack: { team: T0ACME, user: U0WANG }, feishu: { tenant: 2f0acme, openId: ou_wang } }
  - { id: zhao.min, name: 赵敏, slack: { team: T0ACME, user: U0ZHAO } }
channels:
  - { id: pay-slack, kind: slack, apiUrl: "${input.platforms.slack.url}", botToken: xoxb-standin, signingSecret: slack-signing-secret, team: T0ACME, appId: A0COUNTER, channel: C0FINANCE, messagesPerSecond: 100 }
  - { id: pay-feishu, kind: feishu, domain: "${input.platforms.feishu.url}", appId: cli_a1b2c3d4e5f60718, appSecret: feishu-app-secret, encryptKey: feishu-encrypt-key, verificationToken: feishu-verification-token, tenant: 2f0acme, chat: oc_finance, messagesPerSecond: 100 }
policies:
  - { id: short, tools: ["bank__short"], approvers: ["group:finance"], decideWithin: 2s }
  - { id: large-payment, tools: ["bank__*"], approvers: ["group:finance"], reason: on-reject }
externalTools: ["bank__*", "crm__*"]
${input.changes ?? `agents:\n  - { id: procurement, owner: zhao.min }`}
`;
