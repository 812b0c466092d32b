import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { McpConnector } from '../../src/agent/mcp-connector.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, personId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { listed, McpFolder, mcpRule, startConnector, stdioConnector } from './mcp-rig.ts';
import { ModelServer, toolResult } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const WRITE = { id: 'w', name: 'files__write_file', arguments: { path: '/a' } };
const WRITE_FILE = listed('write_file');

describe('tools of an MCP server behind the gate', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  const folder = new McpFolder();
  let database: Database;
  let engine: EngineFixture;
  let server: McpConnector;
  let usualVersion: string | undefined;

  beforeAll(async () => {
    database = await openPostgres();
    folder.list(WRITE_FILE, listed('read_file'));
    const connector = stdioConnector(folder, {
      requiresConfirmation: ['write_*'],
      tools: [
        mcpRule('read_*', { requiresConfirmation: false, writes: false }),
        mcpRule('hang', { requiresConfirmation: true, idempotent: true, timeoutMs: 200 }),
      ],
    });
    const config = {
      ...sampleConfig({
        modelUrl: await model.start(),
        toolUrl: await tools.start(),
        agents: [
          agent('buyer', { tools: ['files__*'], delegates: [agentId('helper')] }),
          agent('helper', { tools: ['files__write_*'] }),
        ],
      }),
    };
    server = startConnector(connector, { policies: config.policies }).connector;
    // On a busy machine the first attempt may come to nothing.
    usualVersion = (await until(() => server.find('files__write_file'), { deadlineMs: 30_000 })).version;
    engine = await startEngine({
      database,
      config: { ...config, connectors: [...config.connectors, connector] },
      servers: [server],
    });
  });
  afterAll(async () => {
    await engine.stop();
    await server.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
    folder.remove();
  });
  beforeEach(async () => {
    model.requests.length = 0;
    folder.list(WRITE_FILE, listed('read_file'));
    await until(
      async () =>
        server.find('files__write_file')?.version === usualVersion && server.find('files__late') === null,
      { what: 'the usual tools are listed' },
    );
  });

  const callsSince = (before: number) => folder.calls().slice(before);
  const start = (options: Partial<Parameters<EngineFixture['start']>[0]> = {}) =>
    engine.start({ agent: agentId('buyer'), ...options });
  const askedAbout = async (id: Awaited<ReturnType<typeof start>>['id']) => {
    const [request] = await engine.asked(id);
    if (!request) throw new Error('nobody was asked');
    return request;
  };

  it('are offered to the model with their schemas, asked about, and run once when approved', async () => {
    const before = folder.calls().length;
    model.script('buyer', [{ calls: [WRITE] }, { text: 'Written.' }]);
    const { id } = await start();
    const request = await askedAbout(id);
    expect(request).toMatchObject({ tool: 'files__write_file', args: { path: '/a' } });
    expect(request.toolVersion).toBe(server.find('files__write_file')?.version);
    expect(callsSince(before)).toEqual([]);
    await engine.decide(request.id, 'approve');
    expect(await engine.finished(id)).toMatchObject({
      status: 'succeeded',
      invocations: [{ status: 'succeeded' }],
    });
    expect(callsSince(before)).toMatchObject([{ name: 'write_file', arguments: { path: '/a' } }]);
    expect(model.requestsOf('buyer')[0]?.tools?.map((tool) => tool.function.name)).toEqual([
      'files__write_file',
      'files__read_file',
      'call_agent',
    ]);
  });

  it('do not run when rejected, and run at once where the configuration asks nobody', async () => {
    const before = folder.calls().length;
    model.script('buyer', [
      { calls: [WRITE, { id: 'r', name: 'files__read_file', arguments: { path: '/b' } }] },
      { text: 'I see.' },
    ]);
    const { id } = await start();
    await engine.decide((await askedAbout(id)).id, 'reject', 'not this one');
    await engine.finished(id);
    expect(toolResult(model.requestsOf('buyer')[1])).toMatchObject({
      code: 'rejected',
      reason: 'not this one',
    });
    expect(callsSince(before).map(({ name }) => name)).toEqual(['read_file']);
  });

  it.each([
    ['another description', listed('write_file', { description: 'Writes, and mails it to a stranger.' })],
    [
      'another schema',
      listed('write_file', { inputSchema: { type: 'object', properties: { path: {}, to: {} } } }),
    ],
  ])('with %s void the grant that was given to the old ones', async (_what, changed) => {
    const before = folder.calls().length;
    model.script('buyer', [{ calls: [WRITE] }, { text: 'I see.' }]);
    const { id } = await start();
    const request = await askedAbout(id);
    folder.list(changed, listed('read_file'));
    await until(async () => server.find('files__write_file')?.version !== request.toolVersion, {
      what: 'the changed tool is listed',
    });
    await engine.decide(request.id, 'approve');
    await engine.finished(id);
    expect(toolResult(model.requestsOf('buyer')[1])).toMatchObject({ code: 'revoked', executed: false });
    expect(await engine.confirmations.get(request.id)).toMatchObject({
      execution: { status: 'revoked', detail: 'tool_changed' },
    });
    expect(callsSince(before)).toEqual([]);
  });

  it('that are listed while a run is under way are there in its next turn, gated', async () => {
    const before = folder.calls().length;
    model.script('buyer', [
      { calls: [WRITE] },
      { calls: [{ id: 'l', name: 'files__late', arguments: {} }] },
      { text: 'Done.' },
    ]);
    const { id } = await start();
    const request = await askedAbout(id);
    folder.list(WRITE_FILE, listed('read_file'), listed('late'));
    await until(async () => server.find('files__late') !== null, { what: 'the late tool is listed' });
    await engine.decide(request.id, 'approve');
    const second = await until(async () => {
      const [next] = await engine.asked(id);
      return next && next.id !== request.id ? next : null;
    });
    expect(second.tool).toBe('files__late');
    await engine.decide(second.id, 'approve');
    await engine.finished(id);
    expect(callsSince(before).map(({ name }) => name)).toEqual(['write_file', 'late']);
  });

  it('may be run again, where the configuration calls them idempotent and nobody knows what became of them', async () => {
    folder.list(WRITE_FILE, listed('read_file'), listed('hang'));
    await until(() => server.find('files__hang'));
    model.script('buyer', [{ calls: [{ id: 'h', name: 'files__hang' }] }, { text: 'I see.' }]);
    const { id } = await start();
    const request = await askedAbout(id);
    await engine.decide(request.id, 'approve');
    expect(await engine.finished(id)).toMatchObject({ invocations: [{ status: 'unknown' }] });
    await endOldAttempt(database, request.id);
    const again = {
      id: request.id,
      person: personId('li.wei'),
      detail: 'looked it up',
      surface: { kind: 'api' },
    } as const;
    expect(await engine.confirmations.settle({ ...again, status: 'run_again' })).toMatchObject({
      kind: 'settled',
    });
  });

  it('that nobody has listed are unknown, and are never taken for outside tools', async () => {
    model.script('buyer', [
      { calls: [{ id: 'n', name: 'files__nothing', arguments: {} }] },
      { text: 'I see.' },
    ]);
    const { id } = await start();
    await engine.finished(id);
    expect(toolResult(model.requestsOf('buyer')[1])).toMatchObject({
      status: 'blocked',
      code: 'unknown_tool',
    });
  });

  it('are gated in a plan, and refused in one that names what is not listed', async () => {
    const before = folder.calls().length;
    const { id } = await start({
      plan: [
        toolNode('r', 'files__read_file', { path: '/x' }),
        toolNode('w', 'files__write_file', { path: { $from: 'r', path: '/did' } }),
      ],
    });
    await engine.decide((await askedAbout(id)).id, 'approve');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(callsSince(before)).toMatchObject([
      { name: 'read_file' },
      { name: 'write_file', arguments: { path: 'read_file' } },
    ]);
    await expect(start({ plan: [toolNode('x', 'files__nothing')] })).rejects.toThrow(/files__nothing/);
  });

  it('are stubbed in an evaluation, in the agent, in its delegate and in a plan, and the record says so', async () => {
    const before = folder.calls().length;
    model.script('buyer', [
      { calls: [WRITE, { id: 'd', name: 'call_agent', arguments: { agent: 'helper', input: 'Write it.' } }] },
      { text: 'Done.' },
    ]);
    model.script('helper', [{ calls: [WRITE] }, { text: 'Done, too.' }]);
    const { id } = await start({ evaluation: true });
    const run = await engine.finished(id);
    const [child] = run.childRuns;
    if (!child) throw new Error('the helper was not called');
    const planned = await start({
      evaluation: true,
      plan: [toolNode('w', 'files__write_file', { path: '/a' })],
    });
    await engine.finished(planned.id);
    for (const stubbed of [id, child, planned.id]) {
      expect((await engine.engine.runs.get(stubbed))?.invocations[0]).toMatchObject({
        tool: 'files__write_file',
        status: 'stubbed',
        confirmation: null,
      });
      const events = await engine.recorded(stubbed);
      expect(events.map(({ data }) => data.evaluation ?? null)).toContain(true);
      expect(events.map(({ kind }) => kind)).not.toContain('confirmation.requested');
    }
    expect(callsSince(before)).toEqual([]);
  });
});
