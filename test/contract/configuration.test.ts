import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { FakeFeishu } from './fakes/feishu.ts';
import { FakeModel } from './fakes/model.ts';
import { FakePayments } from './fakes/payments.ts';
import { FakeSlack } from './fakes/slack.ts';
import { type Ended, Gate, runCommand } from './gate.ts';
import { configuration } from './world.ts';

vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

type Config = Record<string, unknown>;
type Entry = Record<string, unknown>;

const peers = {
  slack: new FakeSlack(),
  feishu: new FakeFeishu(),
  payments: new FakePayments(),
  model: new FakeModel(),
};
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-config-'));
  await Promise.all(Object.values(peers).map((peer) => peer.start()));
});
afterAll(async () => {
  await Promise.all(Object.values(peers).map((peer) => peer.stop()));
  await rm(folder, { recursive: true, force: true });
});

const base = (): Config => ({ ...configuration(peers), database: '', dataDir: join(folder, 'data') });
const entry = (config: Config, section: string, id: string): Entry =>
  (config[section] as Entry[]).find((one) => one.id === id) ?? {};

async function serve(text: string, env: Record<string, string> = {}): Promise<Ended> {
  const file = join(folder, `${Math.random()}.yaml`);
  await writeFile(file, text);
  return runCommand(['serve', '--config', file], env);
}

/** Applies each change to one file and expects every word of every fault in one answer. */
async function faults(changes: readonly (readonly [string, (config: Config) => void, ...RegExp[]])[]) {
  const config = base();
  for (const [, change] of changes) change(config);
  const ended = await serve(JSON.stringify(config, null, 1));
  expect(ended.code, ended.output).toBe(2);
  for (const [what, , ...patterns] of changes)
    for (const pattern of patterns) expect(ended.output, what).toMatch(pattern);
  expect(ended.output).not.toContain('"listening"');
}

describe('a faulty configuration', () => {
  it('ends with 2 and names every fault with its path', () =>
    faults([
      [
        'an unknown person',
        (c) => {
          entry(c, 'policies', 'only-li').approvers = ['person:li.wie'];
        },
        /policies\[7\]\.approvers/,
        /li\.wie/,
      ],
      [
        'an unknown group',
        (c) => {
          entry(c, 'policies', 'quick').approvers = ['group:finanze'];
        },
        /policies\[4\]\.approvers/,
        /finanze/,
      ],
      [
        'an unknown channel',
        (c) => {
          entry(c, 'policies', 'slack-only').channels = ['pay-slak'];
        },
        /policies\[6\]\.channels/,
        /pay-slak/,
      ],
      [
        'a tool pattern that matches nothing',
        (c) => {
          entry(c, 'policies', 'with-reason').tools = ['bnk__explain'];
        },
        /policies\[2\]\.tools/,
        /bnk__explain/,
      ],
      [
        'a hook nobody has',
        (c) => {
          entry(c, 'agents', 'helper').hooks = { class_hooks: ['read-only-gard'] };
        },
        /agents\[1\]\.hooks/,
        /read-only-gard/,
      ],
      [
        'a quorum nobody can meet',
        (c) => {
          entry(c, 'policies', 'reason-on-reject').quorum = 4;
        },
        /policies\[3\]\.quorum/,
      ],
      [
        'a condition that does not parse',
        (c) => {
          entry(c, 'policies', 'short-grant').when = 'args.amount >';
        },
        /policies\[5\]\.when/,
      ],
      [
        'a condition that is not boolean',
        (c) => {
          entry(c, 'policies', 'small-payment').when = '1 + 1';
        },
        /policies\[1\]\.when/,
      ],
      [
        'an unknown key',
        (c) => {
          c.organisation = 'acme';
        },
        /organisation/,
        /organization/,
      ],
      [
        'an unknown nested key',
        (c) => {
          entry(c, 'channels', 'pay-slack').signingSecrt = 'x';
        },
        /channels\[1\]/,
        /signingSecrt/,
        /signingSecret/,
      ],
      [
        'a malformed duration',
        (c) => {
          entry(c, 'policies', 'large-payment').decideWithin = '2 hours';
        },
        /policies\[0\]\.decideWithin/,
      ],
      [
        'an unknown model',
        (c) => {
          entry(c, 'agents', 'other').model = 'mian';
        },
        /agents\[3\]\.model/,
        /mian/,
      ],
      [
        'an unknown owner',
        (c) => {
          entry(c, 'agents', 'planner').owner = 'zhao.mn';
        },
        /agents\[2\]\.owner/,
        /zhao\.mn/,
      ],
      [
        'an unknown time zone',
        (c) => {
          c.timeZone = 'Asia/Shangai';
        },
        /timeZone/,
      ],
    ]));

  it('lists those of keys, people, channels and agents alike', () =>
    faults([
      [
        'an unknown role',
        (c) => {
          entry(c, 'apiKeys', 'ops').role = 'boss';
        },
        /apiKeys\[2\]\.role/,
      ],
      [
        'a doubled key',
        (c) => {
          entry(c, 'apiKeys', 'audit-desk').key = entry(c, 'apiKeys', 'root').key;
        },
        /apiKeys\[[34]\]\.key/,
      ],
      [
        'a doubled person',
        (c) => {
          (c.people as Entry[]).push({ id: 'li.wei', name: 'Li' });
        },
        /people\[6\]/,
      ],
      [
        'one account of two people',
        (c) => {
          entry(c, 'people', 'sun.li').slack = { team: 'T0ACME', user: 'U0WANG' };
        },
        /people\[[12]\]\.slack/,
      ],
      [
        'no signing secret',
        (c) => {
          delete entry(c, 'channels', 'pay-slack').signingSecret;
        },
        /channels\[1\]\.signingSecret/,
      ],
      [
        'no encrypt key',
        (c) => {
          delete entry(c, 'channels', 'pay-feishu').encryptKey;
        },
        /channels\[0\]\.encryptKey/,
      ],
      [
        'an unknown tool of an agent',
        (c) => {
          entry(c, 'agents', 'other').tools = ['ao__*'];
        },
        /agents\[3\]\.tools/,
        /ao__\*/,
      ],
      [
        'an unknown delegate',
        (c) => {
          entry(c, 'agents', 'planner').delegates = ['hlper'];
        },
        /agents\[2\]\.delegates/,
        /hlper/,
      ],
      [
        'an unknown locale',
        (c) => {
          c.locale = 'fr-FR';
        },
        /locale/,
      ],
    ]));

  it('refuses a mode without what it connects with', () =>
    faults([
      [
        'socket mode without an app token',
        (c) => {
          entry(c, 'channels', 'pay-slack').mode = 'socket';
        },
        /channels\[1\]\.appToken/,
      ],
      [
        'a long connection for an app id of another shape',
        (c) => {
          Object.assign(entry(c, 'channels', 'pay-feishu'), { mode: 'long-connection', appId: 'cli_x' });
        },
        /channels\[0\]\.appId/,
      ],
    ]));

  it('refuses a flagged tool and an agent that asks for everything where there is no default policy', async () => {
    const config = base();
    delete config.defaultPolicy;
    entry(config, 'agents', 'other').requireConfirmationForAll = true;
    const ended = await serve(JSON.stringify(config));
    expect(ended.code).toBe(2);
    expect(ended.output).toMatch(/oa__purchase_pay|requiresConfirmation/);
    expect(ended.output).toMatch(/requireConfirmationForAll/);
  });

  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: the file's own references to the environment.
  it('names each unset variable, and takes a default where one is given', async () => {
    const config = base();
    entry(config, 'channels', 'pay-slack').botToken = '${NOT_SET_A}';
    entry(config, 'people', 'li.wei').consoleKey = '${NOT_SET_B}';
    config.timeZone = '${ZONE:-Asia/Nowhere}';
    const ended = await serve(JSON.stringify(config));
    expect(ended.code).toBe(2);
    for (const name of ['NOT_SET_A', 'NOT_SET_B', 'timeZone']) expect(ended.output).toContain(name);
  });

  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: the file's own references to the environment.

  it('ends with 2 for a file that is no YAML, holds a key twice, or is not there', async () => {
    const texts = ['organization: [', 'organization: a\norganization: b\n', '- a\n', ''];
    const absent = runCommand(['serve', '--config', join(folder, 'absent.yaml')]);
    const ended = await Promise.all([...texts.map((text) => serve(text)), absent]);
    expect(ended.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2]);
  });

  it('never prints a secret of the file', async () => {
    const config = base();
    entry(config, 'channels', 'pay-slack').mode = 'sockt';
    const ended = await serve(JSON.stringify(config));
    expect(ended.code).toBe(2);
    expect(ended.output).not.toContain(peers.slack.signingSecret);
  });
});

describe('the command', () => {
  it('helps and tells its version', async () => {
    const [help, version] = await Promise.all([runCommand(['--help']), runCommand(['--version'])]);
    expect([help.code, version.code]).toEqual([0, 0]);
    for (const command of ['serve', 'demo', 'doctor', 'audit']) expect(help.output).toContain(command);
    expect(version.output).toMatch(/\d+\.\d+\.\d+/);
  });

  it('starts from the sample of the project with its environment set', async () => {
    const sample = await readFile('countersign.example.yaml', 'utf8');
    const text = sample
      .replace('https://slack.com/api/', peers.slack.apiUrl)
      .replace('https://open.feishu.cn', peers.feishu.domain)
      .replace('port: 8787', 'port: 0')
      // A server that is gone at once keeps nothing from starting.
      .replace('command: [npx,', 'command: ["false",')
      .replace('dataDir: .countersign', `dataDir: ${join(folder, 'sample')}`);
    const file = join(folder, 'sample.yaml');
    await writeFile(file, text);
    const gate = await Gate.open(file, {
      PROCUREMENT_KEY: 'sample-procurement-key',
      AUDIT_KEY: 'sample-audit-desk-key',
      LIWEI_KEY: 'sample-li-wei-key',
      FEISHU_APP_SECRET: peers.feishu.appSecret,
      FEISHU_ENCRYPT_KEY: peers.feishu.encryptKey,
      FEISHU_VERIFICATION_TOKEN: peers.feishu.verificationToken,
      SLACK_BOT_TOKEN: peers.slack.botToken,
      SLACK_SIGNING_SECRET: peers.slack.signingSecret,
      OPENAI_BASE_URL: peers.model.baseUrl,
      OPENAI_API_KEY: 'k',
      MODEL: 'scripted',
      OA_TOKEN: 'oa-token',
    });
    const asked = await gate.ask(
      {
        tool: 'bank__transfer',
        agent: 'procurement',
        args: { payee: 'x', amount: '68000.00', currency: 'CNY' },
      },
      'sample-procurement-key',
    );
    expect(asked.body.confirmation).toMatchObject({ policy: { id: 'large-payment', quorum: 2 } });
    expect(await gate.call('GET', '/readyz')).toMatchObject({
      status: 200,
      body: { checks: expect.arrayContaining([expect.objectContaining({ name: 'connector files' })]) },
    });
    expect(await gate.end()).toBe(0);
  });
});
