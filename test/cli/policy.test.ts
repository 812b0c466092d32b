import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { policyExplain } from '../../src/cli/policy-explain.ts';
import { policyLint } from '../../src/cli/policy-lint.ts';
import { type PolicyTestOptions, policyTest } from '../../src/cli/policy-test.ts';
import type { Database } from '../../src/db/database.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { packageRoot } from '../../src/package-root.ts';
import { API_KEYS, createNeighbours, startApp, UNKNOWN_ID } from '../http/http-fixture.ts';
import { type Core, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';

const FILE = `organization: acme
externalTools: ["bank__*"]
people:
  - { id: li, name: 李, groups: [finance], consoleKey: key-of-li-0123456789 }
  - { id: wang, name: 王, groups: [finance], consoleKey: key-of-wang-0123456789 }
channels:
  - { id: pay, kind: slack, botToken: t, signingSecret: s, team: T0, channel: C0 }
agents:
  - { id: buyer, owner: wang }
policies:
  - { id: large, tools: ["bank__*"], when: 'decimal(args.amount) > decimal("100")', approvers: ["group:finance"] }
`;

const folder = mkdtempSync(join(tmpdir(), 'countersign-policy-'));
const configFile = join(folder, 'countersign.yaml');
const said: string[] = [];
beforeEach(() => {
  said.length = 0;
  for (const method of ['log', 'error'] as const)
    vi.spyOn(console, method).mockImplementation((line: unknown) => void said.push(String(line)));
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const output = () => said.join('\n');

describe('countersign policy test', () => {
  const run = (more: Partial<PolicyTestOptions> = {}, file = FILE) => {
    writeFileSync(configFile, file);
    return policyTest({
      ...{ configFile, tool: 'bank__pay', args: '{"amount": "200"}', metadata: '{}' },
      ...{ agent: null, requester: null, session: null, ...more },
    });
  };

  it('says who would be asked, and why', async () => {
    expect(await run()).toBe(0);
    expect(output()).toContain('People are asked: the policy large decides');
    expect(output()).toContain('(looked at args.amount)');
    expect(output()).toContain('李 (li): yes, through group:finance');
    expect(output()).toContain("王 (wang): no: is the requester, is the agent's owner");
  });

  it('exits 0 also for a call that nobody is asked about, and for one that is denied', async () => {
    expect(await run({ args: '{"amount": "20"}' })).toBe(0);
    expect(output()).toContain('Nobody is asked');
    expect(await run({ args: '{"amount": "much"}' })).toBe(0);
    expect(output()).toContain('denied (policy_error): The argument amount is not a decimal number');
  });

  it.each([
    ['a tool nobody has', { tool: 'nosuch__pay' }, 'There is no tool nosuch__pay'],
    ['an agent nobody has', { agent: 'x' }, 'There is no agent x'],
    ['a requester nobody knows', { requester: 'x' }, 'There is no person x'],
    ['arguments that are not JSON', { args: '{' }, '--args: Not valid JSON'],
  ])('exits 1 for %s', async (_, more, message) => {
    expect(await run(more)).toBe(1);
    expect(output()).toContain(message);
  });

  it('says it of a tool that a server lists by itself, and what it could not look at', async () => {
    const file = `${FILE}connectors: [{ id: files, kind: mcp, command: [x], requiresConfirmation: [write_file], tools: [{ name: "read_*", requiresConfirmation: false }] }]\ndefaultPolicy: { approvers: ["group:finance"] }\n`;
    expect(await run({ tool: 'files__write_file', args: '{}' }, file)).toBe(0);
    expect(output()).toContain('warning: files lists its tools itself');
    expect(output()).toContain('People are asked: the policy default decides');
    expect(await run({ tool: 'files__delete', args: '{}' }, file)).toBe(0);
    expect(output().match(/the policy default decides/g)).toHaveLength(2);
    expect(await run({ tool: 'files__read_all', args: '{}' }, file)).toBe(0);
    expect(output()).toContain('Nobody is asked');
    expect(await run({ tool: 'files__a b', args: '{}' }, file)).toBe(1);
  });

  it('exits 2 where the configuration is wrong', async () => {
    expect(await run({}, FILE.replace('group:finance', 'group:nobody'))).toBe(2);
    expect(output()).toContain('policies[0].approvers[0] names a group that is not there');
  });
});

describe('countersign policy lint', () => {
  const run = (file: string) => {
    writeFileSync(configFile, file);
    return policyLint({ configFile });
  };

  it('exits 0 without findings', async () => {
    expect(await run(FILE)).toBe(0);
    expect(output()).toContain('Nothing to mend.');
  });

  it('exits 1 with findings, each with path and line', async () => {
    const second = '  - { id: again, tools: ["bank__pay"], when: "1 == 2", approvers: ["group:finance"] }\n';
    expect(await run(FILE + second)).toBe(1);
    expect(output()).toContain('countersign.yaml:12: policies[1].when is false for every call');
    expect(output()).toContain('1 finding.');
  });

  it('exits 2 with every fault of a configuration that is wrong', async () => {
    expect(await run(FILE.replace('bank__*"], when', 'nosuch__*"], when'))).toBe(2);
    expect(output()).toContain("matches neither a connector's tool nor externalTools");
    expect(await policyLint({ configFile: join(folder, 'nosuch.yaml') })).toBe(2);
  });
});

describe('a command whose reader has gone', () => {
  it('ends with its own exit code, and says nothing about it', async () => {
    writeFileSync(configFile, FILE);
    const command = ['src/cli/main.ts', 'policy', 'test', '--config', configFile, '--tool', 'bank__pay'];
    const child = spawn(process.execPath, ['--import', 'tsx', ...command, '--args', '{"amount": "200"}'], {
      cwd: packageRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    const [code] = await once(child, 'close');
    expect([code, complaints]).toEqual([0, '']);
  });
});

describe('countersign policy explain', () => {
  let database: Database;
  let core: Core;
  let app: HttpApp;
  let url: string;
  const key = (id: string) => API_KEYS.find((candidate) => candidate.id === id)?.key ?? '';

  beforeAll(async () => {
    database = await openPostgres();
    core = startCore(database);
    app = startApp(createNeighbours(), core.service);
    url = await app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await app.close();
    core.stop();
    await database.close();
  });

  it('asks a running service, and prints lines or the answer as it came', async () => {
    const id = await core.pending();
    expect(await policyExplain({ id, url: `${url}/`, key: key('audit'), locale: 'zh-CN', json: false })).toBe(
      0,
    );
    expect(output()).toContain('需要审批：由策略 large-payment 决定');
    expect(output()).toMatch(/核对码：[0-9A-Z]{8}\n参数指纹：sha256:[0-9a-f]{64}\n/);
    expect(await policyExplain({ id, url, key: key('root'), locale: 'en-US', json: true })).toBe(0);
    expect(JSON.parse(said.at(-1) ?? '')).toMatchObject({ answer: { policy: 'large-payment' } });
  });

  it('exits 1 with what the service says: an agent may not, and an id is unknown', async () => {
    const id = await core.pending();
    expect(await policyExplain({ id, url, key: key('procurement'), locale: 'en-US', json: false })).toBe(1);
    expect(output()).toContain('The service answered 403');
    expect(
      await policyExplain({ id: UNKNOWN_ID, url, key: key('audit'), locale: 'en-US', json: false }),
    ).toBe(1);
    expect(output()).toContain('The service answered 404');
  });

  it('exits 1 where nothing listens, and says where it asked', async () => {
    const nobody = { id: UNKNOWN_ID, url: 'http://127.0.0.1:1', key: 'k', json: false } as const;
    expect(await policyExplain({ ...nobody, locale: 'en-US' })).toBe(1);
    expect(output()).toContain('The service cannot be reached: http://127.0.0.1:1: ');
  });
});
