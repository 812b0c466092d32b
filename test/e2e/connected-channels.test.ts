import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { doctor } from '../../src/cli/doctor.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { CHANNEL_KINDS, HOOK_KINDS, type RunningService, startService } from '../../src/main.ts';
import { type FeishuStandin, startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { type SlackStandin, startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type ConfirmationJson, call, read } from './api.ts';
import { FEISHU_USERS, KEYS, SLACK_USERS } from './platforms.ts';

const SLACK = { botToken: 'xoxb-standin', team: 'T0ACME', appId: 'A0COUNTER', channel: 'C0FINANCE' };
const FEISHU = {
  ...{ appId: 'cli_a1b2c3d4e5f60718', appSecret: 'feishu-app-secret', tenant: '2f0acme', chat: 'oc_finance' },
};

/** Two processes' worth of the service on one database, with nothing that a platform could call. */
describe('a service whose channels connect by themselves', () => {
  let folder: string;
  let yaml: string;
  let slack: SlackStandin;
  let feishu: FeishuStandin;
  const services: RunningService[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-sockets-'));
    slack = await startSlackStandin({
      ...SLACK,
      ...{ signingSecret: 'not used', appToken: 'xapp-standin', callbackUrl: 'http://127.0.0.1:9/' },
      users: Object.entries(SLACK_USERS).map(([name, id]) => ({ id, name })),
    });
    feishu = await startFeishuStandin({
      ...FEISHU,
      ...{
        encryptKey: 'not used',
        verificationToken: 'token',
        longConnection: true,
        callbackUrl: () => null,
      },
      users: Object.entries(FEISHU_USERS).map(([name, openId]) => ({ openId, unionId: `on_${name}`, name })),
    });
    yaml = `
organization: acme
listen: { host: 127.0.0.1, port: 0 }
database: ${await newPostgresDatabase()}
dataDir: ${folder}
apiKeys:
  - { id: procurement, key: ${KEYS.agent}, role: agent, agents: [procurement], requesters: ["*"] }
  - { id: audit-desk, key: ${KEYS.auditor}, role: auditor }
people:
  - { id: li.wei, name: 李伟, groups: [finance], slack: { team: T0ACME, user: U0LIWEI }, feishu: { tenant: 2f0acme, openId: ou_liwei } }
  - { id: wang.fang, name: 王芳, groups: [finance], slack: { team: T0ACME, user: U0WANG }, feishu: { tenant: 2f0acme, openId: ou_wang } }
  - { id: zhao.min, name: 赵敏, slack: { team: T0ACME, user: U0ZHAO } }
channels:
  - { id: pay-slack, kind: slack, apiUrl: "${slack.url}", botToken: xoxb-standin, appToken: xapp-standin, team: T0ACME, appId: A0COUNTER, channel: C0FINANCE, mode: socket }
  - { id: pay-feishu, kind: feishu, domain: "${feishu.url}", appId: ${FEISHU.appId}, appSecret: feishu-app-secret, verificationToken: token, tenant: 2f0acme, chat: oc_finance, mode: long-connection }
policies:
  - { id: large-payment, tools: ["bank__*"], approvers: ["group:finance"], quorum: 2, reason: on-reject }
externalTools: ["bank__*"]
agents:
  - { id: procurement, owner: zhao.min }
`;
    const loaded = loadConfig({
      text: yaml,
      fileName: 'countersign.yaml',
      environment: {},
      channelKinds: CHANNEL_KINDS,
      hookKinds: HOOK_KINDS,
    });
    if (loaded.kind === 'faulty') throw new Error(JSON.stringify(loaded.faults));
    for (let replica = 0; replica < 2; replica += 1)
      services.push(await startService({ config: loaded.config, logger: pino({ level: 'silent' }) }));
    for (const { url } of services) await until(async () => (await fetch(`${url}/readyz`)).status === 200);
  }, 60_000);
  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await Promise.all([slack.stop(), feishu.stop()]);
    await rm(folder, { recursive: true, force: true });
  });

  const first = () => services[0]?.url ?? '';
  const ask = async (payee: string) => {
    const { body } = await call<{ confirmation: ConfirmationJson }>(first(), 'POST', '/v1/confirmations', {
      body: {
        tool: 'bank__transfer',
        args: { amount: '1.00', currency: 'CNY', payee },
        agent: 'procurement',
        requester: 'zhao.min',
      },
    });
    const { id } = body.confirmation;
    const ts = await until(
      () => slack.messages().find(({ text, blocks }) => (text + JSON.stringify(blocks)).includes(payee))?.ts,
    );
    const messageId = await until(
      () => feishu.messages().find(({ card }) => JSON.stringify(card).includes(payee))?.messageId,
    );
    return { ts, messageId, request: () => read(first(), id) };
  };

  it('takes a vote in each chat, whichever process it comes to', async () => {
    const { ts, messageId, request } = await ask('甲公司');
    const tapped = await slack.tap({ user: SLACK_USERS['li.wei'], ts, actionId: 'countersign.approve' });
    expect(tapped).toMatchObject({ status: 200, shownAsError: false });
    const shown = await feishu.tap({
      openId: FEISHU_USERS['wang.fang'],
      messageId,
      element: ({ value }) => value?.action === 'approve',
    });
    expect(shown).toMatchObject({ kind: 'toast', type: 'success' });
    expect(await request()).toMatchObject({ status: 'approved', votes: { length: 2 } });
    await until(() => slack.ephemeralsOf(SLACK_USERS['li.wei']).length === 1);
  });

  it('asks for a reason in a form, and takes it', async () => {
    const { ts, request } = await ask('乙公司');
    await slack.tap({ user: SLACK_USERS['wang.fang'], ts, actionId: 'countersign.reject' });
    await until(() => slack.modalOf(SLACK_USERS['wang.fang']));
    await slack.submitModal({ user: SLACK_USERS['wang.fang'], reason: '金额不符' });
    expect(slack.modalOf(SLACK_USERS['wang.fang'])).toBeNull();
    expect(await request()).toMatchObject({ status: 'rejected', votes: [{ reason: '金额不符' }] });
  });

  it('has no callback addresses', async () => {
    for (const channel of ['pay-slack', 'pay-feishu']) {
      const response = await fetch(`${first()}/channels/${channel}/callback`, { method: 'POST', body: '{}' });
      expect(response.status).toBe(404);
    }
  });

  it('tells of its connections on /readyz and /metrics', async () => {
    const ready = (await (await fetch(`${first()}/readyz`)).json()) as { checks: readonly object[] };
    for (const name of ['channel pay-slack', 'channel pay-feishu'])
      expect(ready.checks).toContainEqual({
        name,
        ready: true,
        detail: expect.stringContaining('2 of 2 connections'),
      });
    const metrics = await (await fetch(`${first()}/metrics`)).text();
    expect(metrics).toContain('countersign_channel_connections{channel="pay-slack"} 2');
    expect(metrics).toContain('countersign_channel_connections{channel="pay-feishu"} 2');
    expect(metrics).toContain('countersign_channel_reconnects_total{channel="pay-feishu"} 0');
  });

  it('is found well by the doctor, who takes no connection', async () => {
    const file = join(folder, 'countersign.yaml');
    await writeFile(file, yaml);
    const said: string[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void said.push(line));
    const code = await doctor({ configFile: file }).finally(() => log.mockRestore());
    expect(said.join('\n')).toMatch(/✓ .*pay-slack: Socket Mode: Slack lets this app connect/);
    expect(said.join('\n')).toMatch(/✓ .*pay-feishu: long connection: Feishu lets this app connect/);
    expect(code).toBe(0);
    expect(slack.sockets?.connections()).toHaveLength(4);
    expect(feishu.longConnections?.connections()).toHaveLength(4);
  });

  it('goes on with what is left when one process stops', async () => {
    const { ts, request } = await ask('丙公司');
    await services.pop()?.stop();
    await until(() => slack.sockets?.connections().length === 2);
    for (const user of ['li.wei', 'wang.fang'] as const) {
      const tapped = await slack.tap({ user: SLACK_USERS[user], ts, actionId: 'countersign.approve' });
      expect(tapped.shownAsError).toBe(false);
    }
    expect(await request()).toMatchObject({ status: 'approved' });
  });
});
