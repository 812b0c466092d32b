import { afterEach, describe, expect, it } from 'vitest';
import type { McpConnector } from '../../src/agent/mcp-connector.ts';
import type { ToolOutcome } from '../../src/agent/tool.ts';
import type { McpConnectorConfig } from '../../src/config/config.ts';
import { newInvocationId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { until } from '../support/until.ts';
import { listed, McpFolder, mcpRule, startConnector, stdioConnector } from './mcp-rig.ts';

const running: McpConnector[] = [];
const folders: McpFolder[] = [];

const folderWith = (...tools: readonly object[]): McpFolder => {
  const folder = new McpFolder();
  folders.push(folder);
  folder.list(...tools);
  return folder;
};

const start = (
  folder: McpFolder,
  changes: Partial<McpConnectorConfig> = {},
  mode?: string,
  options?: Parameters<typeof startConnector>[1],
) => {
  const started = startConnector(stdioConnector(folder, changes, mode), options);
  running.push(started.connector);
  return started;
};

const connected = (connector: McpConnector) =>
  until(async () => connector.health().connected, { what: 'the server is connected' });

const down = (connector: McpConnector, why: RegExp) =>
  until(async () => why.test(connector.health().detail), { what: `the server is down: ${why}` });

const call = (
  connector: McpConnector,
  name: string,
  args: JsonObject = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<ToolOutcome> => {
  const tool = connector.find(`files__${name}`);
  if (tool === null) throw new Error(`there is no tool ${name}`);
  return tool.execute({ args, invocationId: newInvocationId(), signal, unwanted: signal });
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

afterEach(async () => {
  await Promise.all(running.splice(0).map((connector) => connector.stop()));
  for (const folder of folders.splice(0)) folder.remove();
});

describe('an MCP server as a child process', () => {
  it('lists its tools as tools of the connector, and is called under its own names', async () => {
    const folder = folderWith(listed('read_file'), listed('write_file'));
    const { connector } = start(folder);
    await connected(connector);
    expect(connector.tools().map(({ name }) => name)).toEqual(['files__read_file', 'files__write_file']);
    expect(connector.find('files__read_file')).toMatchObject({
      connector: 'files',
      writes: true,
      idempotent: false,
    });
    expect(await call(connector, 'read_file', { path: '/a' })).toEqual({
      kind: 'succeeded',
      result: { did: 'read_file', with: { path: '/a' } },
    });
    expect(folder.calls()).toMatchObject([
      {
        name: 'read_file',
        _meta: { 'countersign/idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
    ]);
  });

  it('gets none of our environment beside what every program needs, and what the configuration gives it', async () => {
    process.env.COUNTERSIGN_TEST_SECRET = 'not for others';
    const folder = folderWith();
    const { connector } = start(folder);
    await connected(connector);
    const [{ env } = { env: {} }] = folder.starts();
    expect(env).toMatchObject({ GREETING: 'hello', PATH: process.env.PATH });
    expect(Object.keys(env)).not.toContain('COUNTERSIGN_TEST_SECRET');
    delete process.env.COUNTERSIGN_TEST_SECRET;
  });

  it.each<[string, JsonObject, Partial<ToolOutcome>]>([
    ['fail', {}, { kind: 'failed', result: 'no such file' } as Partial<ToolOutcome>],
    ['big', {}, { kind: 'succeeded', result: { id: '12345678901234567890' } } as Partial<ToolOutcome>],
    ['picture', {}, { kind: 'succeeded', result: ['look', { type: 'image' }] } as Partial<ToolOutcome>],
    ['deep', {}, { kind: 'succeeded', result: expect.stringContaining('nested too deeply') }],
    ['throw', {}, { kind: 'unknown' }],
    ['die', {}, { kind: 'unknown' }],
  ])('says what became of the call of %s', async (name, args, outcome) => {
    const { connector } = start(folderWith(listed(name)));
    await connected(connector);
    expect(await call(connector, name, args)).toMatchObject(outcome);
  });

  it('leaves a call unknown that is out of time, and goes on', async () => {
    const { connector } = start(folderWith(listed('hang'), listed('read_file')));
    await connected(connector);
    const time = new AbortController();
    const pending = call(connector, 'hang', {}, time.signal);
    time.abort(new Error('timed out'));
    expect(await pending).toMatchObject({ kind: 'unknown', message: expect.stringContaining('in time') });
    expect(await call(connector, 'read_file')).toMatchObject({ kind: 'succeeded' });
  });

  it('says that nothing was sent while the server is gone, keeps the tools, and comes back', async () => {
    const folder = folderWith(listed('die'), listed('read_file'));
    const { connector } = start(folder);
    await connected(connector);
    const version = connector.find('files__read_file')?.version;
    folder.down(true);
    expect(await call(connector, 'die')).toMatchObject({ kind: 'unknown' });
    await until(async () => !connector.health().connected, { what: 'the server is gone' });
    expect(await call(connector, 'read_file')).toMatchObject({
      kind: 'failed',
      code: 'unavailable',
      message: expect.stringContaining('nothing was sent'),
    });
    folder.down(false);
    await connected(connector);
    expect(connector.find('files__read_file')?.version).toBe(version);
    expect(await call(connector, 'read_file')).toMatchObject({ kind: 'succeeded' });
  });

  it('takes up what the server lists anew: what is new, what is gone, what is another tool now', async () => {
    const folder = folderWith(listed('read_file'), listed('write_file'));
    const { connector } = start(folder);
    await connected(connector);
    const before = connector.find('files__read_file');
    const kept = connector.find('files__write_file');
    folder.list(
      listed('read_file', { description: 'Reads, and tells everybody.' }),
      listed('write_file'),
      listed('stat'),
    );
    await until(async () => connector.find('files__stat') !== null, { what: 'the new tool is listed' });
    expect(connector.find('files__read_file')?.version).not.toBe(before?.version);
    expect(connector.find('files__write_file')).toBe(kept);
    folder.list(listed('stat'));
    await until(async () => connector.find('files__read_file') === null, { what: 'the old tool is gone' });
    // A call that was checked against the earlier definition does not go to the new one.
    expect(
      await before?.execute({
        args: {},
        invocationId: newInvocationId(),
        signal: new AbortController().signal,
        unwanted: new AbortController().signal,
      }),
    ).toMatchObject({ kind: 'failed', code: 'unavailable' });
    expect(folder.calls()).toEqual([]);
  });

  it('ends with the service, also where it heeds neither the end of its input nor SIGTERM', async () => {
    const folder = folderWith(listed('read_file'));
    const { connector } = start(folder, {}, 'stubborn');
    await connected(connector);
    const pid = folder.starts()[0]?.pid ?? 0;
    expect(isAlive(pid)).toBe(true);
    await connector.stop();
    await until(async () => !isAlive(pid), { what: 'the program is gone' });
  });
});

describe('what a tool of an MCP server is allowed', () => {
  const RULE = { id: 'reads', tools: ['files__read_*'], when: 'args.path == "/etc/passwd"' };
  const policies = [RULE] as never;

  it('asks about what neither a policy nor the connector speaks of', async () => {
    const folder = folderWith(
      listed('read_file'),
      listed('write_file'),
      listed('list'),
      listed('format_disk'),
    );
    const { connector } = start(
      folder,
      {
        requiresConfirmation: ['write_*'],
        tools: [mcpRule('list', { requiresConfirmation: false, writes: false })],
      },
      undefined,
      { policies },
    );
    await connected(connector);
    expect(
      Object.fromEntries(connector.tools().map((tool) => [tool.name, tool.requiresConfirmation])),
    ).toEqual({
      files__read_file: false,
      files__write_file: true,
      files__list: false,
      files__format_disk: true,
    });
  });

  it('loosens nothing on the word of the server, and tightens on it', async () => {
    const folder = folderWith(
      listed('sweet', { annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false } }),
      listed('bitter', {
        annotations: { readOnlyHint: false, idempotentHint: false, destructiveHint: true },
      }),
    );
    const { connector } = start(folder, {
      tools: [mcpRule('bitter', { requiresConfirmation: false, writes: false, idempotent: true })],
    });
    await connected(connector);
    const strict = { writes: true, idempotent: false, requiresConfirmation: true };
    expect(connector.find('files__sweet')).toMatchObject(strict);
    expect(connector.find('files__bitter')).toMatchObject(strict);
  });

  it('treats a tool as the first rule that matches says', async () => {
    const { connector } = start(folderWith(listed('pay_now')), {
      tools: [
        mcpRule('pay_*', {
          timeoutMs: 1_234,
          card: { amount: '/amount', currency: null, payee: null, decisive: ['/to'] },
        }),
        mcpRule('*', { timeoutMs: 99_000 }),
      ],
    });
    await connected(connector);
    expect(connector.find('files__pay_now')).toMatchObject({
      timeoutMs: 1_234,
      decisiveFields: [
        { role: 'amount', pointer: '/amount' },
        { role: 'other', pointer: '/to' },
      ],
    });
  });

  it('refuses what cannot be a tool, one by one, and says so in the log', async () => {
    const folder = folderWith(
      listed('good'),
      listed('a.b'),
      listed('x'.repeat(59)),
      listed('read\u0430'),
      listed('twice'),
      listed('twice', { description: 'The other one.' }),
      listed('no_schema', { inputSchema: { type: 'object', properties: { a: { $ref: '#/nowhere' } } } }),
      listed('asynchronous', { inputSchema: { $async: true, type: 'object' } }),
      listed('identified', {
        inputSchema: { type: 'object', properties: { a: { $id: 'https://a.example/', type: 'string' } } },
      }),
      listed('array', { inputSchema: { type: 'object', minProperties: 'many' } }),
      listed('deep', {
        inputSchema: JSON.parse(`${'{"type":"object","not":'.repeat(100)}{}${'}'.repeat(100)}`),
      }),
      listed('long', { description: 'x'.repeat(70_000) }),
    );
    const { connector, log } = start(folder);
    await connected(connector);
    expect(connector.tools().map(({ name }) => name)).toEqual(['files__good']);
    expect(connector.health().detail).toBe('1 tools, 10 refused');
    const refused = log.filter(({ message }) => message.includes('is refused'));
    expect(refused.map(({ fields }) => fields.tool)).toContain('twice');
    expect(refused).toHaveLength(10);
  });

  it('says which patterns speak of no tool that is listed', async () => {
    const { connector, log } = start(folderWith(listed('read_file')), { requiresConfirmation: ['wirte_*'] });
    await connected(connector);
    expect(log).toContainEqual(
      expect.objectContaining({ level: 'warn', fields: { connector: 'files', patterns: ['wirte_*'] } }),
    );
  });

  it('refuses arguments whose check does not come to an end', async () => {
    const folder = folderWith(
      listed('slow', {
        inputSchema: { type: 'object', properties: { path: { type: 'string', pattern: '^(a+)+$' } } },
      }),
    );
    const { connector } = start(folder);
    await connected(connector);
    const tool = connector.find('files__slow');
    expect(tool?.validate({ path: 'aaa' })).toEqual({ kind: 'valid' });
    expect(tool?.validate({ path: `${'a'.repeat(60)}!` })).toMatchObject({ kind: 'invalid' });
  });
});

describe('a hostile MCP server', () => {
  it.each<[string, RegExp]>([
    ['crash', /not connected/],
    ['flood', /not connected: the server floods/],
    ['endless-line', /not connected: the server sent a line without an end/],
    ['circles', /not connected: the list of tools goes round in circles/],
  ])('that does nothing but %s is given up, and tried again', async (mode, why) => {
    const folder = folderWith(listed('read_file'));
    const { connector, log } = start(folder, {}, mode);
    await connector.firstAttempt;
    await down(connector, why);
    expect(connector.tools()).toEqual([]);
    await until(async () => folder.starts().length >= 2, { what: 'it was started again' });
    expect(log.some(({ level, message }) => level === 'warn' && message.includes('not connected'))).toBe(
      true,
    );
    const pids = folder.starts().map(({ pid }) => pid);
    await connector.stop();
    await until(async () => !pids.some(isAlive), { what: 'none of its programs is left' });
  });

  it('that never answers keeps nobody waiting, and can be stopped', async () => {
    const folder = folderWith();
    const { connector } = start(folder, {}, 'silent');
    await until(async () => folder.starts().length === 1, { what: 'it was started' });
    expect(connector.health()).toEqual({ connected: false, detail: 'connecting' });
    await connector.stop();
    await until(async () => !isAlive(folder.starts()[0]?.pid ?? 0), { what: 'the program is gone' });
  });

  it('that lists without end has its first tools taken, and no more', async () => {
    const folder = folderWith(...Array.from({ length: 300 }, (_, index) => listed(`tool_${index}`)));
    const { connector } = start(folder, {}, 'pages');
    await connected(connector);
    expect(connector.tools()).toHaveLength(256);
    expect(connector.find('files__tool_255')).not.toBeNull();
  });

  it('that is not there, or writes without end to its error output, leaves a bounded trace', async () => {
    const absent = startConnector({
      ...stdioConnector(folderWith()),
      server: { transport: 'stdio', command: ['/no/such/program'], env: {}, cwd: null },
    });
    running.push(absent.connector);
    await absent.connector.firstAttempt;
    await down(absent.connector, /ENOENT/);

    const chatty = start(folderWith(listed('read_file')), {}, 'chatty');
    await connected(chatty.connector);
    const lines = chatty.log.filter(({ message }) => message.includes('error output'));
    expect(lines).toHaveLength(20);
    expect(lines.every(({ fields }) => String(fields.line).length <= 300)).toBe(true);
  });

  it('that greets on its standard output is understood all the same', async () => {
    const { connector } = start(folderWith(listed('read_file')), {}, 'greets');
    await connected(connector);
    expect(connector.tools()).toHaveLength(1);
  });
});
