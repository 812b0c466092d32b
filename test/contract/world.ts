import { FakeFeishu } from './fakes/feishu.ts';
import { FakeModel } from './fakes/model.ts';
import { FakePayments } from './fakes/payments.ts';
import { FakeSlack } from './fakes/slack.ts';
import { freshDatabase, Gate } from './gate.ts';

export const keys = {
  agent: 'agent-key-procurement',
  other: 'agent-key-of-another',
  operator: 'operator-key-of-the-desk',
  auditor: 'auditor-key-of-the-desk',
  admin: 'admin-key-of-the-root',
  liWei: 'li-wei-console-key',
  wangFang: 'wang-fang-console-key',
  sunLi: 'sun-li-console-key',
  zhaoMin: 'zhao-min-console-key',
  qianYi: 'qian-yi-console-key',
  zhouJing: 'zhou-jing-console-key',
} as const;

/** Slack users and Feishu open ids of the people. */
export const accounts = {
  liWei: { slack: { user: 'U0LIWEI' }, feishu: 'ou_liwei' },
  wangFang: { slack: { user: 'U0WANG' }, feishu: 'ou_wang' },
  sunLi: { slack: { user: 'U0SUN' }, feishu: 'ou_sun' },
  qianYi: { slack: { user: 'U0QIAN' }, feishu: 'ou_qian' },
  stranger: { slack: { user: 'U0STRANGER' }, feishu: 'ou_stranger' },
} as const;

/** Every peer of the service, and the service itself. */
export interface World {
  readonly gate: Gate;
  readonly slack: FakeSlack;
  readonly feishu: FakeFeishu;
  readonly payments: FakePayments;
  readonly model: FakeModel;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

export async function startWorld(options: {
  readonly name: string;
  readonly postgresUrl?: string | undefined;
  readonly change?: (config: Record<string, unknown>) => Record<string, unknown>;
}): Promise<World> {
  const [slack, feishu, payments, model] = await Promise.all([
    new FakeSlack().start(),
    new FakeFeishu().start(),
    new FakePayments().start(),
    new FakeModel().start(),
  ]);
  const peers = { slack, feishu, payments, model };
  const databaseUrl = options.postgresUrl ? await freshDatabase(options.postgresUrl, options.name) : '';
  const config = configuration(peers);
  const gate = await Gate.start(options.change?.(config) ?? config, databaseUrl);
  slack.callbackUrl = `${gate.url}/channels/pay-slack/callback`;
  feishu.callbackUrl = `${gate.url}/channels/pay-feishu/callback`;
  return {
    ...peers,
    gate,
    databaseUrl,
    async stop() {
      await gate.stop();
      await Promise.all([slack.stop(), feishu.stop(), payments.stop(), model.stop()]);
    },
  };
}

type Peers = Pick<World, 'slack' | 'feishu' | 'payments' | 'model'>;

export function configuration({ slack, feishu, payments, model }: Peers): Record<string, unknown> {
  const transfer = { approvers: ['group:finance'] };
  return {
    organization: 'acme',
    listen: { host: '127.0.0.1', port: 0 },
    publicUrl: 'https://gate.acme.example',
    locale: 'en-US',
    timeZone: 'Asia/Shanghai',
    apiKeys: [
      {
        id: 'procurement',
        key: keys.agent,
        role: 'agent',
        agents: ['procurement', 'helper', 'planner', 'outsider'],
        requesters: ['*'],
      },
      { id: 'other', key: keys.other, role: 'agent', agents: ['other'] },
      { id: 'ops', key: keys.operator, role: 'operator' },
      { id: 'audit-desk', key: keys.auditor, role: 'auditor' },
      { id: 'root', key: keys.admin, role: 'admin' },
    ],
    people: [
      person('li.wei', '李伟', keys.liWei, ['finance'], accounts.liWei, ['operator']),
      person('wang.fang', '王芳', keys.wangFang, ['finance'], accounts.wangFang),
      person('sun.li', '孙丽', keys.sunLi, ['finance'], accounts.sunLi),
      person('qian.yi', '钱一', keys.qianYi, [], accounts.qianYi),
      { id: 'zhao.min', name: '赵敏', consoleKey: keys.zhaoMin },
      { id: 'zhou.jing', name: '周静', consoleKey: keys.zhouJing, roles: ['auditor'] },
    ],
    channels: [
      {
        id: 'pay-feishu',
        kind: 'feishu',
        domain: feishu.domain,
        appId: feishu.appId,
        appSecret: feishu.appSecret,
        encryptKey: feishu.encryptKey,
        verificationToken: feishu.verificationToken,
        tenant: feishu.tenant,
        chat: feishu.chat,
        messagesPerSecond: 100,
        mode: 'webhook',
      },
      {
        id: 'pay-slack',
        kind: 'slack',
        apiUrl: slack.apiUrl,
        botToken: slack.botToken,
        signingSecret: slack.signingSecret,
        team: slack.team,
        appId: slack.appId,
        channel: slack.channel,
        messagesPerSecond: 100,
        mode: 'http',
      },
    ],
    policies: [
      {
        id: 'large-payment',
        tools: ['bank__transfer', 'oa__purchase_pay'],
        when: 'money(args.amount, args.currency) > money("50000", "CNY")',
        ...transfer,
        quorum: 2,
        decideWithin: '2h',
        executeWithin: '10m',
      },
      { id: 'small-payment', tools: ['bank__transfer', 'bank__list'], ...transfer },
      { id: 'with-reason', tools: ['bank__explain'], ...transfer, reason: 'always' },
      { id: 'reason-on-reject', tools: ['bank__on_reject'], ...transfer, reason: 'on-reject' },
      { id: 'quick', tools: ['bank__quick', 'oa__quick'], ...transfer, decideWithin: '2s' },
      { id: 'short-grant', tools: ['bank__short'], ...transfer, executeWithin: '1s' },
      { id: 'slack-only', tools: ['bank__slack_only'], ...transfer, channels: ['pay-slack'] },
      { id: 'only-li', tools: ['bank__only_li'], approvers: ['person:li.wei'] },
    ],
    models: { main: { baseUrl: model.baseUrl, apiKey: 'model-key', model: 'scripted' } },
    externalTools: ['bank__*', 'free__*'],
    connectors: [
      {
        id: 'oa',
        kind: 'http',
        baseUrl: payments.url,
        headers: { authorization: 'Bearer oa-token' },
        tools: [
          tool('purchase_pay', 'POST', '/payments', {
            parameters: paymentParameters,
            card: { amount: '/amount', currency: '/currency', payee: '/payee' },
            requiresConfirmation: true,
            timeout: '3s',
          }),
          tool('quick', 'POST', '/quick', {}),
          tool('note', 'POST', '/notes', { timeout: '3s' }),
          tool('search', 'GET', '/search', { writes: false }),
        ],
      },
      // Nobody listens on port 1.
      { id: 'dead', kind: 'http', baseUrl: 'http://127.0.0.1:1', tools: [tool('call', 'POST', '/x', {})] },
    ],
    agents: [
      {
        id: 'procurement',
        model: 'main',
        owner: 'zhao.min',
        executor: 'react',
        instructions: 'You buy things for Acme.',
        tools: ['oa__*'],
        delegates: ['helper'],
        hooks: {
          class_hooks: [
            'session-context',
            'read-only-guard',
            'audit-log',
            { 'result-truncate': { limit: 300 } },
          ],
        },
      },
      {
        id: 'helper',
        model: 'main',
        owner: 'zhao.min',
        executor: 'react',
        instructions: 'You help.',
        tools: ['oa__purchase_pay', 'oa__note', 'dead__call'],
        delegates: [],
      },
      {
        id: 'planner',
        model: 'main',
        owner: 'zhao.min',
        executor: 'dag',
        instructions: 'You follow plans.',
        tools: ['oa__*'],
        delegates: ['helper'],
      },
      {
        id: 'other',
        model: 'main',
        owner: 'zhao.min',
        executor: 'react',
        instructions: 'Other.',
        tools: ['oa__search'],
      },
    ],
    defaultPolicy: { ...transfer, channels: ['pay-feishu'], decideWithin: '15m' },
  };
}

const paymentParameters = {
  type: 'object',
  required: ['payee', 'amount', 'currency'],
  properties: {
    payee: { type: 'string' },
    amount: { type: 'string' },
    currency: { type: 'string' },
    memo: { type: 'string' },
  },
};

function tool(name: string, method: string, path: string, more: Record<string, unknown>) {
  return { name, description: `Does ${name}.`, method, path, parameters: { type: 'object' }, ...more };
}

function person(
  id: string,
  name: string,
  consoleKey: string,
  groups: readonly string[],
  account: { readonly slack: { readonly user: string }; readonly feishu: string },
  roles: readonly string[] = [],
) {
  return {
    id,
    name,
    groups,
    slack: { team: 'T0ACME', user: account.slack.user },
    feishu: { tenant: '2f0acme', openId: account.feishu },
    consoleKey,
    roles,
  };
}
