import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { channelManifest } from '../../src/cli/channel-manifest.ts';
import { channelTest } from '../../src/cli/channel-test.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { type PlayedPlatform, standin } from '../../src/cli/standin.ts';
import { playFeishu } from '../../src/cli/standin-feishu.ts';
import { playSlack } from '../../src/cli/standin-slack.ts';
import type { RunningService } from '../../src/main.ts';
import { packageRoot } from '../../src/package-root.ts';
import { startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { startStandinPage } from '../../src/standin/page/start-standin-page.ts';
import { startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';
import { call, PAYMENT, read } from '../e2e/api.ts';
import { KEYS, type Platforms, startPlatforms, yamlFor } from '../e2e/platforms.ts';
import { startServiceInProcess } from '../e2e/service-in-process.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

/** It starts a whole service on a database of its own. */
const CHANNEL_TEST_TIMEOUT_MS = 90_000;

describe('setting a chat up', () => {
  let platforms: Platforms;
  let folder: string;
  let service: RunningService;
  let yaml: string;
  let databaseUrl: string;

  beforeAll(async () => {
    platforms = await startPlatforms();
    folder = await mkdtemp(join(tmpdir(), 'countersign-set-up-'));
    const port = await freePort();
    databaseUrl = await newPostgresDatabase();
    yaml = yamlFor({ platforms, databaseUrl, dataDir: join(folder, 'data') })
      .replace('port: 0', `port: ${port}`)
      .replace('locale: zh-CN', 'locale: en-US');
    service = await startServiceInProcess(yaml);
    platforms.serviceUrl = service.url;
  });
  afterAll(async () => {
    await service?.stop();
    await platforms?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => vi.restoreAllMocks());

  const { signal: interrupted } = new AbortController();

  const fileOf = async (text: string): Promise<string> => {
    const file = join(folder, `${crypto.randomUUID()}.yaml`);
    await writeFile(file, text);
    return file;
  };
  /** Everything that a command prints, on either stream. */
  function printed(): () => string {
    const lines: string[] = [];
    const keep = (...words: unknown[]) => void lines.push(words.join(' '));
    vi.spyOn(console, 'log').mockImplementation(keep);
    vi.spyOn(console, 'error').mockImplementation(keep);
    return () => lines.join('\n');
  }
  async function examined(text: string, send = false) {
    const output = printed();
    const code = await doctor({ configFile: await fileOf(text), send });
    return { code, output: output() };
  }

  it('is found right step by step, a card sent and changed included', async () => {
    const { code, output } = await examined(yaml, true);
    expect(output.split('\n').filter((line) => line.startsWith('✗'))).toEqual([]);
    expect(code).toBe(0);
    for (const finding of [
      'Channel pay-slack: signed in to T0ACME',
      'Channel pay-slack: has every scope that the configuration needs',
      'Channel pay-slack: the bot is in the channel C0FINANCE',
      `Channel pay-slack: takes callbacks at ${service.url}/channels/pay-slack/callback`,
      'Channel pay-feishu: signed in as cli_a1b2c3d4e5f60718, a bot',
      'Channel pay-feishu: belongs to the tenant 2f0acme',
      'Channel pay-feishu: the bot is in the group oc_finance',
      `Channel pay-feishu: takes callbacks at ${service.url}/channels/pay-feishu/callback`,
    ])
      expect(output).toContain(`✓ ${finding}`);
    expect(output.match(/a card was sent/g)).toHaveLength(2);
    expect(output.match(/the card was changed/g)).toHaveLength(2);
    expect(JSON.stringify(platforms.slack.messages().at(-1)?.blocks)).toContain('sent and changed');
    // Nothing can be decided on it.
    expect(JSON.stringify(platforms.slack.messages().at(-1)?.blocks)).not.toContain('countersign.approve');
  });

  it.each<[string, string, string, string]>([
    ['a wrong token', 'xoxb-standin', 'auth.test: invalid_auth', 'copy the Bot User OAuth Token'],
    ['a channel without the bot', 'C0FINANCE', 'channel_not_found', '/invite @your-app'],
    ['another signing secret', 'signingSecret: slack-signing-secret', 'answers 401', 'has other secrets'],
    ['another app secret', 'appSecret: feishu-app-secret', '10014', 'copy App ID and App Secret'],
    ['another encrypt key', 'encryptKey: feishu-encrypt-key', 'answers 401', 'has other secrets'],
    [
      'a group without the bot',
      'chat: oc_finance',
      'the bot is not in the group',
      'Settings → Bots → Add bot',
    ],
    [
      'another tenant',
      'tenant: 2f0acme, chat',
      'belongs to the tenant 2f0acme, not',
      'Set tenant to 2f0acme',
    ],
  ])('with %s says what is wrong and where to click', async (_, right, finding, advice) => {
    const wrong = right === 'tenant: 2f0acme, chat' ? 'tenant: 3f0other, chat' : `${right}x`;
    const { code, output } = await examined(yaml.replace(right, wrong));
    expect(code).toBe(1);
    const lines = output.split('\n');
    const at = lines.findIndex((line) => line.startsWith('✗') && line.includes(finding));
    expect(at, output).toBeGreaterThanOrEqual(0);
    expect(lines[at + 1]).toContain(advice);
    expect(output).not.toMatch(/feishu-app-secret|slack-signing-secret|feishu-encrypt-key/);
  });

  it('names the scope and the permission that direct messages and addresses need', async () => {
    const slack = await startSlackStandin({
      ...{ botToken: 'xoxb-standin', signingSecret: 's', appId: 'A0', team: 'T0ACME', channel: 'C0FINANCE' },
      ...{ users: [], callbackUrl: service.url, scopes: ['chat:write', 'channels:history'] },
    });
    const feishu = await startFeishuStandin({
      ...{ appId: 'cli_a1b2c3d4e5f60718', appSecret: 'feishu-app-secret', encryptKey: 'k' },
      ...{ verificationToken: 't', tenant: '2f0acme', chat: 'oc_finance', users: [], permissions: [] },
      callbackUrl: null as unknown as string,
    });
    const text = yaml
      .replace(platforms.slack.url, slack.url)
      .replace(platforms.feishu.url, feishu.url)
      .replace('approvers: ["group:finance"], reason', 'approvers: ["group:finance"], notify: both, reason');
    const { code, output } = await examined(text);
    await Promise.all([slack.stop(), feishu.stop()]);
    expect(code).toBe(1);
    expect(output).toContain('✗ Channel pay-slack: lacks the scopes im:write, im:history');
    expect(output).toContain('press Reinstall to Workspace');
    expect(output).toContain('✗ Channel pay-feishu: lacks im:message:send_as_bot');
    expect(output).toContain('Permissions & Scopes');
  });

  it('says why the database does not answer', async () => {
    const { code, output } = await examined(yaml.replace(databaseUrl, 'postgres://u:p@127.0.0.1:1/none'));
    expect(code).toBe(1);
    expect(output).toContain('✗ Database (PostgreSQL): connect ECONNREFUSED 127.0.0.1:1');
  });

  it('does not blame a service that has not been started', async () => {
    const { code, output } = await examined(yaml.replace(/port: \d+/, `port: ${await freePort()}`));
    expect(code).toBe(0);
    expect(output).toMatch(/– Channel pay-slack: nothing answers at .*ECONNREFUSED/);
    expect(output).toContain('Run doctor again once the service has been started.');
  });

  it('makes the manifest of a Slack app, with a callback address or without', () => {
    const output = printed();
    const common = { kind: 'slack', name: 'Countersign', channel: 'pay-slack' };
    expect(channelManifest({ ...common, url: 'https://gate.acme.example/' })).toBe(0);
    expect(JSON.parse(output())).toMatchObject({
      oauth_config: { scopes: { bot: expect.arrayContaining(['chat:write', 'im:write']) } },
      settings: {
        socket_mode_enabled: false,
        interactivity: {
          is_enabled: true,
          request_url: 'https://gate.acme.example/channels/pay-slack/callback',
        },
      },
    });
    const again = printed();
    expect(channelManifest({ ...common, url: null })).toBe(0);
    expect(JSON.parse(again())).toMatchObject({
      settings: { socket_mode_enabled: true, interactivity: { is_enabled: true } },
    });
    expect(channelManifest({ ...common, url: 'http://gate.acme.example' })).toBe(1);
    expect(channelManifest({ ...common, kind: 'feishu', url: null })).toBe(1);
  });

  it.each([
    { url: 'https://gate.acme.example/?a=b' },
    { url: 'https://gate.acme.example/#x' },
    { url: 'https://' },
    { channel: '../pay' },
    { channel: 'pay slack' },
    { name: ' ' },
    { name: 'x'.repeat(36) },
  ])('makes no manifest that Slack or the service would refuse: %j', (wrong) => {
    const output = printed();
    const good = {
      kind: 'slack',
      name: 'Countersign',
      channel: 'pay-slack',
      url: 'https://gate.acme.example',
    };
    expect(channelManifest({ ...good, ...wrong })).toBe(1);
    expect(output()).toContain(`--${Object.keys(wrong)[0]} has to be`);
  });

  it.each([
    ['is a sign-in page', 200, '<html>'],
    ['knows no such address', 404, 'no'],
    ['sends elsewhere', 302, ''],
  ])('says of a platform that %s that it is none, and finds nothing well there', async (_, status, body) => {
    const server = createServer((_request, response) =>
      response.writeHead(status, { location: '/', 'content-type': 'text/html' }).end(body),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const elsewhere = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, output } = await examined(
      yaml
        .replace(
          /channels:\n/,
          `channels:\n  - { id: pay-telegram, kind: telegram, apiUrl: "${elsewhere}", botToken: "1:${'t'.repeat(35)}", chat: "-100", mode: polling }\n`,
        )
        .replace(platforms.slack.url, `${elsewhere}/api/`)
        .replace(platforms.feishu.url, elsewhere),
    );
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
    expect(code).toBe(1);
    const wellFound = output.split('\n').filter((line) => /^✓ Channel/.test(line));
    expect(wellFound.filter((line) => !/clock|takes callbacks/.test(line))).toEqual([]);
    for (const [channel, setting] of [
      ['pay-slack', 'apiUrl'],
      ['pay-feishu', 'domain'],
      ['pay-telegram', 'apiUrl'],
    ])
      expect(output).toMatch(
        new RegExp(
          `✗ Channel ${channel}: .*\\n {2}→ Nothing answers, or something that is not the platform: check ${setting}`,
        ),
      );
  });

  it(
    'is tried with a real card: sent, tapped, and shown as decided',
    async () => {
      const port = await freePort();
      const output = printed();
      const running = channelTest({
        configFile: await fileOf(yaml.replace(/port: \d+/, `port: ${port}`)),
        channel: 'pay-slack',
        timeoutMs: 60_000,
        interrupted,
      });
      const isTest = () =>
        platforms.slack
          .messages()
          .find(({ text, blocks }) => /channel_test/.test(text + JSON.stringify(blocks)));
      const card = await until(isTest, { what: 'the test card', deadlineMs: 60_000 });
      platforms.serviceUrl = `http://127.0.0.1:${port}`;
      await platforms.slack.tap({ user: 'U0WANG', ts: card.ts, actionId: 'countersign.approve' });
      expect(await running).toBe(0);
      platforms.serviceUrl = service.url;
      expect(output()).toMatch(
        /The card stands in the chat[\s\S]*A tap arrived after .* approved\.[\s\S]*showed it within/,
      );
      expect(JSON.stringify(isTest()?.blocks)).not.toContain('countersign.approve');
    },
    CHANNEL_TEST_TIMEOUT_MS,
  );

  it(
    'closes its card when it is interrupted',
    async () => {
      const output = printed();
      const interruption = new AbortController();
      const testCards = () => platforms.slack.messages().filter(({ text }) => /channel_test/.test(text));
      const earlier = testCards().length;
      const running = channelTest({
        configFile: await fileOf(yaml.replace(/port: \d+/, `port: ${await freePort()}`)),
        ...{ channel: 'pay-slack', timeoutMs: 60_000, interrupted: interruption.signal },
      });
      await until(() => testCards().length > earlier && /Tap it now/.test(output()), {
        what: 'the test card',
        deadlineMs: 60_000,
      });
      interruption.abort();
      expect(await running).toBe(1);
      expect(output()).toContain('Stopped before a tap came. The card was closed.');
      expect(testCards().slice(earlier)).toMatchObject([{ text: expect.stringContaining('Cancelled') }]);
    },
    CHANNEL_TEST_TIMEOUT_MS,
  );

  it('says that taps cannot arrive where the service holds the port, and that a channel is not there', async () => {
    const output = printed();
    const configFile = await fileOf(yaml);
    expect(await channelTest({ configFile, channel: 'pay-slack', timeoutMs: 5_000, interrupted })).toBe(1);
    expect(output()).toMatch(/Port \d+ is taken/);
    expect(await channelTest({ configFile, channel: 'pay-slak', timeoutMs: 5_000, interrupted })).toBe(1);
    expect(output()).toContain('There is no channel pay-slak; there are: pay-slack, pay-feishu');
  });

  it(
    'says that the card was not sent, where that is why no tap came',
    async () => {
      const output = printed();
      const nowhere = `http://127.0.0.1:${await freePort()}/api/`;
      const text = yaml
        .replace(/port: \d+/, `port: ${await freePort()}`)
        .replace(platforms.slack.url, nowhere);
      const configFile = await fileOf(text);
      expect(await channelTest({ configFile, channel: 'pay-slack', timeoutMs: 500, interrupted })).toBe(1);
      expect(output()).toContain(
        '✗ The card was not delivered: chat.postMessage: cannot connect (ECONNREFUSED)',
      );
      expect(output()).toContain('check apiUrl');
      expect(output()).not.toContain('No tap came back');
    },
    CHANNEL_TEST_TIMEOUT_MS,
  );

  it.each(['nonsense', 'localhost:8787', 'http://li.wei:secret@127.0.0.1'])(
    'plays nothing for a service at %s, and says so at once',
    async (service) => {
      const output = printed();
      expect(await standin({ platform: 'slack', port: 0, service, minutes: 1 })).toBe(1);
      expect(output()).toContain(`--service is "${service}"; it has to be the http:// or https:// address`);
    },
  );

  /** As people do it in a browser: somebody who may not, with a fault that was lined up, then 李伟. */
  async function rejectOnThePage(played: PlayedPlatform): Promise<void> {
    const drawn = await startStandinPage(played, packageRoot);
    const executablePath = await chromium.executablePath();
    const browser = await playwright.launch({ executablePath, args: [...chromium.args, '--no-sandbox'] });
    const page = await browser.newPage({ locale: 'en-US', viewport: { width: 1280, height: 900 } });
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    page.setDefaultTimeout(20_000);
    await page.goto(drawn.url);
    await page.click('[data-kind="429"]');
    await page.waitForSelector('[data-fault="waits"]:has-text("the next call")');
    played.faults.take('auth.test');
    await page.waitForSelector('[data-fault="met"]:has-text("auth.test")');
    await page.selectOption('#call', played.platform === 'slack' ? 'chat.postEphemeral' : 'patch');
    await page.click('[data-kind="bad-token"]');
    if (played.platform === 'slack') {
      await page.click('[data-person="U0WANG"]');
      await page.click('.sl-button[data-style="danger"]');
      await page.waitForSelector('[data-fault="met"]:has-text("chat.postEphemeral")');
      await page.click('[data-person="U0GUEST"]');
      await page.click('.sl-button[data-style="danger"]');
      await page.waitForSelector('#group .whisper:has-text("not known here")');
      await page.click('[data-person="U0LIWEI"]');
      expect(await page.locator('.whisper').count()).toBe(0);
      await page.click('.sl-button[data-style="danger"]');
      await page.fill('.sl-modal textarea', 'No such order');
      await page.click('.sl-modal button[type="submit"]');
      await page.waitForSelector('.sl-header:has-text("Rejected")');
    } else {
      await page.click('[data-person="ou_guest"]');
      await page.click('.fs-button[data-type="primary_filled"]');
      await page.waitForSelector('#toast:has-text("not known here")');
      await page.click('[data-person="ou_liwei"]');
      await page.fill('#group textarea', 'No such order');
      await page.click('.fs-button[data-type^="danger"]');
      await page.waitForSelector('.fs-header[data-template="red"]');
      await page.waitForSelector('[data-fault="met"]:has-text("patch")');
    }
    expect(faults).toEqual([]);
    await browser.close();
    await drawn.stop();
  }

  it.each([
    ['slack', playSlack, 'U0LIWEI', false],
    ['slack', playSlack, 'U0LIWEI', true],
    ['feishu', playFeishu, 'ou_liwei', false],
    ['feishu', playFeishu, 'ou_liwei', true],
  ] as const)(
    '%s is played for a service that takes its settings as they are printed',
    async (platform, play, person, connects) => {
      const port = await freePort();
      const played = await play({ port: 0, service: `http://127.0.0.1:${port}`, connects });
      const text = `organization: acme
database: ${await newPostgresDatabase()}
listen: { port: ${port} }
apiKeys: [{ id: procurement, key: ${KEYS.agent}, role: agent, agents: [procurement] }]
${played.settings}
policies: [{ id: payments, tools: ["bank__*"], approvers: ["person:li.wei"], reason: on-reject }]
externalTools: ["bank__*"]
agents: [{ id: procurement, owner: wang.fang }]
`;
      const { output } = await examined(text);
      vi.restoreAllMocks();
      expect(output).toContain('✓ The configuration is right');
      expect(output).toContain(`✓ Channel standin-${platform}: signed in`);
      expect(played.show()).toEqual([]);

      const own = await startServiceInProcess(text);
      const connected = async () => (await (await fetch(`${own.url}/readyz`)).text()).includes('2 of 2');
      if (connects) {
        await until(connected);
        expect(played.cut?.()).toBe(2);
        await until(async () => !(await connected()));
        await until(connected);
      } else expect(played.cut).toBeNull();
      const { body } = await call<{ confirmation: { id: string } }>(own.url, 'POST', '/v1/confirmations', {
        body: { tool: 'bank__transfer', args: PAYMENT, agent: 'procurement' },
      });
      await until(() => played.show().length === 1);
      await (connects ? played.tap({ message: 1, action: 'reject', person }) : rejectOnThePage(played));
      expect((await read(own.url, body.confirmation.id, KEYS.agent)).status).toBe('rejected');
      await own.stop();
      await played.stop();
    },
  );
});
