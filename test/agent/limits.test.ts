import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunLimits } from '../../src/config/config.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, type RunId } from '../../src/ids.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { ModelServer, type Turn } from './model-server.ts';
import { agent, NO_LIMITS, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const PAYMENT = { payee: 'Acme Ltd', amount: '10.00' };
const limited = (id: string, limits: Partial<RunLimits>) =>
  agent(id, { limits: { ...NO_LIMITS, ...limits } });

const costing = (tokens: number, ...names: string[]): Turn => ({
  raw: {
    choices: [
      {
        message: {
          content: names.length === 0 ? 'Done.' : null,
          tool_calls: names.map((name, index) => ({
            id: `c${index}`,
            type: 'function',
            function: { name, arguments: JSON.stringify(name === 'oa__pay' ? PAYMENT : {}) },
          })),
        },
      },
    ],
    usage: { total_tokens: tokens },
  },
});

describe('what a run may use up', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let url: string;
  let database: Database;
  let config: ReturnType<typeof sampleConfig>;
  const open: { engine: EngineFixture; database: Database }[] = [];

  beforeAll(async () => {
    url = await newPostgresDatabase();
    database = await connectPostgres({ url });
    config = sampleConfig({
      modelUrl: await model.start(),
      toolUrl: await tools.start(),
      agents: [
        limited('caller', { toolCalls: 2 }),
        limited('thinker', { tokens: 1_000 }),
        limited('hasty', { wallTimeMs: 1 }),
        limited('patient', { wallTimeMs: 120_000 }),
      ],
    });
  });
  afterAll(async () => {
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
    model.requests.length = 0;
  });
  afterEach(() => stopAll());

  async function startProcess(): Promise<EngineFixture> {
    const own = await connectPostgres({ url, poolSize: 4 });
    const engine = await startEngine({ database: own, config });
    open.push({ engine, database: own });
    return engine;
  }
  const stopAll = async () => {
    for (const process of open.splice(0)) {
      await process.engine.stop();
      await process.database.close();
    }
  };
  const asked = async (engine: EngineFixture, id: RunId) => {
    const [request] = await engine.asked(id);
    if (!request) throw new Error('nobody was asked');
    return request.id;
  };

  it('is calls: a turn that asks for too many runs none of its own', async () => {
    const engine = await startProcess();
    model.script('caller', [costing(1, 'oa__log'), costing(1, 'oa__log', 'oa__log'), costing(1)]);
    const { id } = await engine.start({ agent: agentId('caller') });
    const run = await engine.finished(id);
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'max_tool_calls', message: expect.stringContaining('2 calls') },
    });
    expect(run.invocations).toHaveLength(1);
    expect(tools.callsTo('/log')).toHaveLength(1);
  });

  it('is calls of a plan, counted before anything runs', async () => {
    const engine = await startProcess();
    const plan = ['a', 'b', 'c'].map((node) => toolNode(node, 'oa__log'));
    await expect(engine.start({ agent: agentId('caller'), plan })).rejects.toMatchObject({
      code: 'invalid_plan',
      message: expect.stringContaining('3 nodes'),
    });
  });

  it('is tokens, summed over a restart; the turn that takes the last ones is not acted on', async () => {
    const first = await startProcess();
    model.script('thinker', [costing(600, 'oa__pay'), costing(600, 'oa__log'), costing(1)]);
    const { id } = await first.start({ agent: agentId('thinker') });
    const request = await asked(first, id);
    await stopAll();
    const second = await startProcess();
    await second.decide(request, 'approve');
    expect(await second.finished(id)).toMatchObject({
      status: 'failed',
      error: { code: 'max_tokens', message: 'The run used 1200 tokens; its limit is 1000.' },
      invocations: [{ tool: 'oa__pay', status: 'succeeded' }],
    });
    expect(tools.callsTo('/log')).toEqual([]);
    expect(model.requestsOf('thinker')).toHaveLength(2);
  });

  it('is an answer in words that costs more than is left, and counts all the same', async () => {
    const engine = await startProcess();
    model.script('thinker', [costing(5_000)]);
    const { id } = await engine.start({ agent: agentId('thinker') });
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'Done.' });
  });

  it('is time, for a model and for a plan', async () => {
    const engine = await startProcess();
    model.script('hasty', [costing(1)]);
    for (const plan of [null, [toolNode('a', 'oa__log')]]) {
      const { id } = await engine.start({ agent: agentId('hasty'), plan });
      expect(await engine.finished(id)).toMatchObject({
        status: 'failed',
        error: { code: 'max_wall_time', message: expect.stringContaining('beside waiting for people') },
      });
    }
    expect(tools.calls).toEqual([]);
  });

  it.each([
    ['does not count while people are asked', true, 'succeeded'],
    ['counts otherwise, and what was approved still comes to its end', false, 'failed'],
  ])('is time that %s', async (_what, waited, status) => {
    const engine = await startProcess();
    model.script('patient', [costing(1, 'oa__pay'), costing(1)]);
    const { id } = await engine.start({ agent: agentId('patient') });
    const request = await asked(engine, id);
    await database.connection.execute(
      waited
        ? sql`update runs set created_at = created_at - interval '1 hour', waiting_since = waiting_since - interval '1 hour' where id = ${id}`
        : sql`update runs set created_at = created_at - interval '1 hour' where id = ${id}`,
    );
    await stopAll();
    const next = await startProcess();
    await next.decide(request, 'approve');
    const run = await next.finished(id);
    expect(run).toMatchObject({ status, invocations: [{ status: 'succeeded' }] });
    if (!waited) expect(run.error?.code).toBe('max_wall_time');
    expect(tools.callsTo('/payments')).toHaveLength(1);
  });
});
