import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { McpConnector } from '../../src/agent/mcp-connector.ts';
import { systemClock } from '../../src/clock.ts';
import type { Config } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { createMcpListingStore } from '../../src/db/mcp-listing-store.ts';
import { agentId, type RunId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { hastyClock, listed, McpFolder, startConnector, stdioConnector } from './mcp-rig.ts';
import { ModelServer, toolResult } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';

const ARGS = { path: '/a' };
const WRITE = { id: 'w', name: 'files__write_file', arguments: ARGS };

describe('a call of an MCP server’s tool that waits for people over a restart', () => {
  const model = new ModelServer();
  let folder: McpFolder;
  let database: Database;
  let config: Config;
  let server: McpConnector;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await openPostgres();
    const agents = [agent('buyer', { tools: ['files__*'] })];
    config = {
      ...sampleConfig({ modelUrl: await model.start(), toolUrl: 'http://127.0.0.1:9', agents }),
      parkAfterMs: 20,
    };
  });
  afterEach(async () => {
    await stop();
    folder.remove();
  });
  afterAll(async () => {
    await database.close();
    await model.stop();
  });

  async function begin(clock = hastyClock): Promise<void> {
    const connector = stdioConnector(folder, { requiresConfirmation: ['write_*'] });
    const listings = createMcpListingStore(database);
    server = startConnector(connector, { listings, clock, policies: config.policies }).connector;
    await server.firstAttempt;
    engine = await startEngine({
      database,
      config: { ...config, connectors: [...config.connectors, connector] },
      servers: [server],
    });
  }
  async function stop(): Promise<void> {
    await engine.stop();
    await server.stop();
  }

  /** Waits for a person, in a process that is gone by now. */
  async function asked(plan: boolean): Promise<{ readonly run: RunId; readonly request: string }> {
    folder = new McpFolder();
    folder.list(listed('write_file'));
    await begin();
    await until(() => server.find('files__write_file'));
    model.requests.length = 0;
    model.script('buyer', [{ calls: [WRITE] }, { text: 'So be it.' }]);
    const { id } = await engine.start({
      agent: agentId('buyer'),
      ...(plan && { plan: [toolNode('write', WRITE.name, ARGS)] }),
    });
    const [request] = await engine.asked(id);
    if (!request) throw new Error('nobody was asked');
    await until(() => engine.engine.activeRuns() === 0, { what: 'parked' });
    await stop();
    return { run: id, request: request.id };
  }

  const approve = (request: string) => engine.decide(request as never, 'approve');

  it.each(['ReAct', 'DAG'])(
    'fails in words where the server is not there: it is no unknown tool, and nothing was sent (%s)',
    async (executor) => {
      const { run, request } = await asked(executor === 'DAG');
      folder.down(true);
      await begin();
      await approve(request);
      const ended = await engine.finished(run);
      expect(ended).toMatchObject({
        status: executor === 'DAG' ? 'failed' : 'succeeded',
        error: executor === 'DAG' ? { code: 'node_failed' } : null,
        invocations: [{ status: 'failed', error: { code: 'unavailable' } }],
      });
      if (executor === 'ReAct') {
        expect(toolResult(model.requestsOf('buyer').at(-1))).toMatchObject({
          status: 'failed',
          code: 'unavailable',
          message: expect.stringContaining('nothing was sent'),
        });
      }
      expect(await engine.confirmations.get(request as never)).toMatchObject({
        execution: { status: 'failed' },
      });
      expect(folder.calls()).toEqual([]);
    },
  );

  /** As after an upgrade from a version that kept no listings. */
  const forgetListing = () => database.connection.execute(sql`delete from mcp_listings`);

  it('waits for a server that has never been seen, and runs once', async () => {
    const { run, request } = await asked(true);
    await forgetListing();
    folder.down(true);
    await begin(systemClock);
    expect(server.find(WRITE.name)).toBeNull();
    await approve(request);
    await until(async () => (await engine.engine.runs.get(run))?.invocations[0]?.status === 'running');
    expect(await engine.confirmations.get(request as never)).toMatchObject({
      execution: { status: 'unclaimed' },
    });
    folder.down(false);
    expect(await engine.finished(run)).toMatchObject({ invocations: [{ status: 'succeeded' }] });
    expect(folder.calls()).toMatchObject([{ name: 'write_file', arguments: ARGS }]);
  });

  it('is withdrawn with its run while its server is waited for', async () => {
    const { run, request } = await asked(false);
    await forgetListing();
    folder.down(true);
    await begin(systemClock);
    await approve(request);
    await until(async () => (await engine.engine.runs.get(run))?.invocations[0]?.status === 'running');
    expect(await engine.engine.runs.cancel(run)).toMatchObject({
      status: 'cancelled',
      invocations: [{ status: 'blocked', error: { code: 'cancelled' } }],
    });
    expect(await engine.confirmations.get(request as never)).toMatchObject({
      execution: { status: 'revoked', reason: 'run_ended' },
    });
  });

  it.each(['ReAct', 'DAG'])(
    'ends in the truth where a server that has never been seen does not come: nobody knows the tool (%s)',
    async (executor) => {
      const { run, request } = await asked(executor === 'DAG');
      await forgetListing();
      folder.down(true);
      await begin();
      await approve(request);
      expect(await engine.finished(run)).toMatchObject({
        error: executor === 'DAG' ? { code: 'node_blocked' } : null,
        invocations: [
          {
            status: 'blocked',
            error: { code: 'gate_unavailable', message: expect.stringContaining('has not been there') },
          },
        ],
      });
      expect(await engine.confirmations.get(request as never)).toMatchObject({
        execution: { status: 'revoked', reason: 'tool_unlisted' },
      });
      expect(folder.calls()).toEqual([]);
    },
  );

  it('waits for a server that comes back, and runs once', async () => {
    const { run, request } = await asked(false);
    folder.down(true);
    await begin(systemClock);
    await approve(request);
    await until(async () => (await engine.engine.runs.get(run))?.invocations[0]?.status === 'running');
    folder.down(false);
    expect(await engine.finished(run)).toMatchObject({ invocations: [{ status: 'succeeded' }] });
    expect(folder.calls()).toMatchObject([{ name: 'write_file', arguments: ARGS }]);
  });

  it('does not run as another tool than was approved', async () => {
    const { run, request } = await asked(false);
    folder.down(true);
    folder.list(listed('write_file', { description: 'Writes, and tells everybody.' }));
    await begin();
    folder.down(false);
    await until(() => server.health().connected);
    await approve(request);
    expect(await engine.finished(run)).toMatchObject({
      invocations: [{ status: 'blocked', error: { code: 'revoked' } }],
    });
    expect(await engine.confirmations.get(request as never)).toMatchObject({
      execution: { status: 'revoked', detail: 'tool_changed' },
    });
    expect(folder.calls()).toEqual([]);
  });

  it('is not offered to another server of that name', async () => {
    await asked(false);
    const moved = stdioConnector(folder, {}, 'silent');
    const { connector } = startConnector(moved, { listings: createMcpListingStore(database) });
    engine = await startEngine({ database, config, servers: [connector] });
    server = connector;
    expect(connector.tools()).toEqual([]);
  });
});
