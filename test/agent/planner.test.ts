import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { agentId, type RunId } from '../../src/ids.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { ModelServer, type Turn } from './model-server.ts';
import { agent, NO_LIMITS, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const PAYMENT = { payee: 'Acme Ltd', amount: '10.00' };
const PLAN = {
  nodes: [
    { id: 'look', tool: 'oa__weather' },
    { id: 'pay', tool: 'oa__pay', args: { ...PAYMENT, payee: { $from: 'look', path: '/sky' } } },
  ],
};
const propose = (plan: unknown): Turn => ({ calls: [{ id: 'p', name: 'propose_plan', arguments: plan }] });

describe('an agent that plans', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let url: string;
  let database: Database;
  let config: ReturnType<typeof sampleConfig>;
  const open: { engine: EngineFixture; database: Database }[] = [];

  beforeAll(async () => {
    url = await newPostgresDatabase();
    database = await connectPostgres({ url });
    await migrate(database);
    config = sampleConfig({
      modelUrl: await model.start(),
      toolUrl: await tools.start(),
      agents: [
        agent('planner', { executor: 'dag', delegates: [agentId('helper')] }),
        agent('helper'),
        agent('chief', { delegates: [agentId('planner')] }),
        agent('modest', { executor: 'dag', limits: { ...NO_LIMITS, toolCalls: 1 } }),
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
  afterEach(async () => {
    for (const process of open.splice(0)) {
      await process.engine.stop();
      await process.database.close();
    }
  });

  async function startProcess(changes: Partial<typeof config> = {}): Promise<EngineFixture> {
    const own = await connectPostgres({ url, poolSize: 4 });
    const engine = await startEngine({ database: own, config: { ...config, ...changes } });
    open.push({ engine, database: own });
    return engine;
  }
  const stop = async (engine: EngineFixture) => {
    const index = open.findIndex((process) => process.engine === engine);
    await engine.stop();
    await open.splice(index, 1)[0]?.database.close();
  };
  const start = (engine: EngineFixture, id = 'planner') =>
    engine.start({ agent: agentId(id), input: 'Pay them.' });
  const approveOnly = async (engine: EngineFixture, id: RunId) => {
    const [request] = await engine.asked(id);
    if (!request) throw new Error('nobody was asked');
    await engine.decide(request.id, 'approve');
    return request;
  };

  it('asks its model for a plan once, shows it, and works through it like through a given one', async () => {
    const engine = await startProcess();
    model.script('planner', [propose(PLAN)]);
    const { id } = await start(engine);
    const request = await approveOnly(engine, id);
    expect(request.args).toEqual({ payee: 'clear', amount: '10.00' });
    const run = await engine.finished(id);
    expect(run).toMatchObject({
      executor: 'dag',
      status: 'succeeded',
      plan: [
        { id: 'look', kind: 'tool', onRejected: 'fail' },
        { id: 'pay', kind: 'tool' },
      ],
      invocations: [
        { node: 'look', status: 'succeeded' },
        { node: 'pay', status: 'succeeded' },
      ],
    });
    expect(tools.callsTo('/payments')).toHaveLength(1);
    const [asked, ...more] = model.requestsOf('planner');
    expect(more).toEqual([]);
    expect(asked?.tools?.map((tool) => tool.function.name)).toEqual(['propose_plan']);
    const [system, user] = asked?.messages ?? [];
    expect(system?.content).toContain('You buy things for Acme.');
    expect(system?.content).toContain('"name":"oa__pay"');
    expect(system?.content).toContain('helper, planner');
    expect(user).toMatchObject({ role: 'user', content: 'Pay them.' });
    expect((await engine.events(id)).map(({ kind }) => kind)).toEqual([
      'run.started',
      'tool.called',
      'tool.finished',
      'tool.called',
      'run.waiting',
      'confirmation.decided',
      'tool.finished',
      'run.finished',
    ]);
  });

  it.each<[string, Turn, RegExp]>([
    [
      'a tool that the agent does not have',
      propose({ nodes: [{ id: 'a', tool: 'bank__pay' }] }),
      /bank__pay/,
    ],
    [
      'a cycle',
      propose({
        nodes: [
          { id: 'a', tool: 'oa__log', dependsOn: ['b'] },
          { id: 'b', tool: 'oa__log', dependsOn: ['a'] },
        ],
      }),
      /wait for one another/,
    ],
    ['another shape', propose({ steps: [] }), /nodes/],
    ['an unknown key', propose({ nodes: [{ id: 'a', tool: 'oa__log', approved: true }] }), /approved/],
    ['a node that is nothing', propose({ nodes: [{ id: 'a' }] }), /either a `tool` or an `agent`/],
    ['no JSON', propose('{"nodes": ['), /no plan/],
    ['words', { text: 'I shall pay them.' }, /no plan/],
    ['nothing', { raw: { choices: [{ message: { content: null } }] } }, /propose_plan/],
    [
      'a plan that was cut off',
      { raw: { choices: [{ finish_reason: 'length', message: { content: JSON.stringify(PLAN) } }] } },
      /cut off/,
    ],
    [
      'a call of a real tool',
      { calls: [{ id: 'x', name: 'oa__pay', arguments: PAYMENT }] },
      /Nothing runs while you plan/,
    ],
    [
      'two plans',
      {
        calls: [
          { id: 'x', name: 'propose_plan', arguments: PLAN },
          { id: 'y', name: 'propose_plan', arguments: PLAN },
        ],
      },
      /one plan/,
    ],
  ])('says what is wrong with %s, and takes the next one', async (_what, wrong, message) => {
    const engine = await startProcess();
    model.script('planner', [wrong, { text: '```json\n{"nodes":[{"id":"a","tool":"oa__log"}]}\n```' }]);
    const { id } = await start(engine);
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', invocations: [{ node: 'a' }] });
    const told = model.requestsOf('planner')[1]?.messages.at(-1)?.content ?? '';
    expect(JSON.parse(told)).toMatchObject({
      status: 'invalid_plan',
      message: expect.stringMatching(message),
    });
    expect(tools.callsTo('/payments')).toEqual([]);
  });

  it('gives up in words after three plans that cannot run, and nothing runs', async () => {
    const engine = await startProcess();
    const wrong = propose({ nodes: [{ id: 'a', tool: 'nothing' }] });
    model.script('planner', [wrong, wrong, wrong, propose(PLAN)]);
    const { id } = await start(engine);
    expect(await engine.finished(id)).toMatchObject({
      status: 'failed',
      plan: null,
      invocations: [],
      error: { code: 'no_plan', message: expect.stringContaining('names the tool "nothing"') },
    });
    expect(model.requestsOf('planner')).toHaveLength(3);
  });

  it('refuses a plan of more calls than a run may make, given or made', async () => {
    const engine = await startProcess();
    const small = propose({ nodes: [{ id: 'a', tool: 'oa__log' }] });
    model.script('modest', [propose(PLAN), small]);
    const { id } = await start(engine, 'modest');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(model.requestsOf('modest')[1]?.messages.at(-1)?.content).toContain('may make 1 calls');
  });

  it('plans as a delegate, too', async () => {
    const engine = await startProcess();
    model.script('chief', [
      { calls: [{ id: 'c', name: 'call_agent', arguments: { agent: 'planner', input: 'Log it.' } }] },
      { text: 'Done.' },
    ]);
    model.script('planner', [propose({ nodes: [{ id: 'a', tool: 'oa__log' }] })]);
    const { id } = await start(engine, 'chief');
    const run = await engine.finished(id);
    expect(run.status).toBe('succeeded');
    const child = run.childRuns[0] === undefined ? null : await engine.engine.runs.get(run.childRuns[0]);
    expect(child).toMatchObject({ executor: 'dag', plan: [{ id: 'a' }], status: 'succeeded' });
  });

  it('is never asked again once its plan is stored, nor for an answer that was paid for', async () => {
    const first = await startProcess();
    const wrong = propose({ nodes: [{ id: 'a', tool: 'nothing' }] });
    model.script('planner', [wrong, { silent: true }]);
    const { id } = await start(first);
    await until(async () => model.requestsOf('planner').length === 2, { what: 'the model is asked again' });
    await stop(first);
    model.script('planner', [propose(PLAN)]);
    const second = await startProcess();
    const [request] = await second.asked(id);
    if (!request) throw new Error('nobody was asked');
    await stop(second);
    expect(model.requestsOf('planner')).toHaveLength(3);
    const third = await startProcess();
    await third.decide(request.id, 'approve');
    expect(await third.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(model.requestsOf('planner')).toHaveLength(3);
    expect(tools.callsTo('/payments')).toHaveLength(1);
  });

  it('goes on in the stream of its events where a listener left off', async () => {
    const first = await startProcess();
    model.script('planner', [propose(PLAN)]);
    const { id } = await start(first);
    const [request] = await first.asked(id);
    if (!request) throw new Error('nobody was asked');
    const seen: number[] = [];
    for await (const { seq, kind } of first.engine.runs.events({
      id,
      afterSeq: 0,
      signal: AbortSignal.timeout(9_000),
    })) {
      seen.push(seq);
      if (kind === 'run.waiting') break;
    }
    await stop(first);
    const second = await startProcess();
    await second.decide(request.id, 'approve');
    const rest: string[] = [];
    const afterSeq = seen.at(-1) ?? 0;
    for await (const { kind } of second.engine.runs.events({
      id,
      afterSeq,
      signal: AbortSignal.timeout(9_000),
    })) {
      rest.push(kind);
    }
    expect(rest).toEqual(['confirmation.decided', 'tool.finished', 'run.finished']);
  });

  describe('under another configuration after a restart', () => {
    const waiting = async () => {
      const first = await startProcess();
      model.script('planner', [
        propose({
          nodes: [
            { id: 'pay', tool: 'oa__pay', args: PAYMENT },
            { id: 'log', tool: 'oa__log', dependsOn: ['pay'], onRejected: 'continue' },
          ],
        }),
      ]);
      const { id } = await start(first);
      const [request] = await first.asked(id);
      if (!request) throw new Error('nobody was asked');
      await stop(first);
      return { id, request };
    };

    it.each<[string, string[], string, boolean]>([
      ['a tool that people are asked about', ['oa__log'], 'pay', false],
      ['a tool of a later node', ['oa__pay'], 'log', true],
    ])('fails in words where the agent lost %s', async (_what, left, node, paid) => {
      const { id, request } = await waiting();
      const second = await startProcess({
        agents: config.agents.map((entry) => (entry.id === 'planner' ? { ...entry, tools: left } : entry)),
      });
      if (paid) await second.decide(request.id, 'approve');
      expect(await second.finished(id)).toMatchObject({
        status: 'failed',
        error: { code: 'plan_changed', message: expect.stringContaining(`Node "${node}"`) },
      });
      expect(tools.callsTo('/payments')).toHaveLength(paid ? 1 : 0);
      expect((await second.confirmations.get(request.id))?.status).toBe(paid ? 'approved' : 'cancelled');
    });

    it('fails in words where the agent is gone, and withdraws what people were asked', async () => {
      const { id, request } = await waiting();
      const second = await startProcess({ agents: config.agents.filter((entry) => entry.id !== 'planner') });
      expect(await second.finished(id)).toMatchObject({
        status: 'failed',
        error: { code: 'agent_unavailable', message: expect.stringContaining('planner') },
      });
      expect((await second.confirmations.get(request.id))?.status).toBe('cancelled');
      expect(tools.callsTo('/payments')).toEqual([]);
    });
  });
});
