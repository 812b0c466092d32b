import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PlanNode } from '../../src/agent/plan.ts';
import type { Run } from '../../src/agent/run.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, personId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { failFirstWrites } from '../support/momentary-fault.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { agentNode, type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { ModelServer } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const PAYMENT = { payee: 'Acme Ltd', amount: '10.00' };
const gated = (id: string, changes?: Parameters<typeof toolNode>[3]) =>
  toolNode(id, 'oa__pay', PAYMENT, changes);
const free = (id: string, changes?: Parameters<typeof toolNode>[3]) => toolNode(id, 'oa__log', {}, changes);

describe('the DAG executor', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let database: Database;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await openPostgres();
    engine = await startEngine({
      database,
      config: sampleConfig({
        modelUrl: await model.start(),
        toolUrl: await tools.start(),
        agents: [agent('planner', { delegates: [agentId('helper')] }), agent('helper'), agent('stranger')],
      }),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
  });

  const start = (plan: readonly PlanNode[]) => engine.start({ agent: agentId('planner'), plan });
  const statuses = (run: Run | null) =>
    Object.fromEntries((run?.invocations ?? []).map(({ node, status }) => [node, status]));
  const nodeReads = (id: Run['id'], node: string, status: string) =>
    until(async () => statuses(await engine.engine.runs.get(id))[node] === status, {
      what: `node ${node} reads ${status}`,
    });
  const decideNode = async (id: Run['id'], node: string, verdict: 'approve' | 'reject') => {
    await nodeReads(id, node, 'waiting');
    const run = await engine.engine.runs.get(id);
    const confirmation = run?.invocations.find((invocation) => invocation.node === node)?.confirmation;
    if (!confirmation) throw new Error(`nobody was asked about ${node}`);
    await engine.decide(confirmation, verdict, 'said so');
  };

  it.each<[string, PlanNode[], RegExp]>([
    ['no nodes', [], /no nodes/],
    [
      'a cycle',
      [free('a', { dependsOn: ['b'] }), free('b', { dependsOn: ['a'] }), free('c')],
      /"a", "b" wait for one another/,
    ],
    ['a node that waits for itself', [free('a', { dependsOn: ['a'] })], /"a" wait/],
    [
      'a cycle through a reference',
      [toolNode('a', 'oa__log', { x: { $from: 'b' } }), free('b', { dependsOn: ['a'] })],
      /wait for one another/,
    ],
    ['an unknown dependency', [free('a', { dependsOn: ['z'] })], /"a" depends on "z"/],
    [
      'a reference to nowhere',
      [toolNode('a', 'oa__log', { x: [{ $from: 'z', path: '/y' }] })],
      /"a" depends on "z"/,
    ],
    ['an id twice', [free('a'), free('a')], /"a" is there twice/],
    ['an unknown tool', [toolNode('a', 'oa__nothing')], /"a" names the tool "oa__nothing"/],
    ['a tool outside the list of the agent', [toolNode('a', 'other__pay', PAYMENT)], /"other__pay"/],
    ['an unknown agent', [agentNode('a', 'nobody')], /"a" names the agent "nobody"/],
    ['an agent that is no delegate', [agentNode('a', 'stranger')], /"stranger"/],
    ['arguments that cannot be kept', [toolNode('a', 'oa__log', { x: '\u0000' })], /Node "a"/],
    ['an input that cannot be kept', [agentNode('a', 'helper', [], '\u0000')], /Node "a"/],
    ['an input that is too long', [agentNode('a', 'helper', [], 'x'.repeat(270_000))], /Node "a": .*limit/],
  ])('refuses a plan with %s before anything runs', async (_what, plan, message) => {
    await expect(start([free('fine'), ...plan].slice(plan.length === 0 ? 1 : 0))).rejects.toMatchObject({
      code: 'invalid_plan',
      message: expect.stringMatching(message),
    });
    expect(tools.calls).toEqual([]);
  });

  it('asks for a plan where none came and no model makes one', async () => {
    const planless = await startEngine({
      database,
      config: sampleConfig({
        modelUrl: 'http://127.0.0.1:9',
        toolUrl: 'http://127.0.0.1:9',
        agents: [agent('planner', { executor: 'dag', model: null })],
      }),
    });
    await expect(planless.start({ agent: agentId('planner') })).rejects.toMatchObject({
      code: 'invalid_plan',
    });
    await planless.stop();
  });

  it('runs what is ready side by side, and a branch goes on while another one waits for a person', async () => {
    const { id } = await start([
      gated('one'),
      free('after one', { dependsOn: ['one'] }),
      gated('two'),
      free('after two', { dependsOn: ['two'] }),
      free('join', { dependsOn: ['after one', 'after two'] }),
    ]);
    await nodeReads(id, 'two', 'waiting');
    await decideNode(id, 'one', 'approve');
    await nodeReads(id, 'after one', 'succeeded');
    const meanwhile = await engine.engine.runs.get(id);
    expect(meanwhile?.status).toBe('waiting');
    expect(statuses(meanwhile)).toEqual({ one: 'succeeded', 'after one': 'succeeded', two: 'waiting' });
    await decideNode(id, 'two', 'approve');
    const run = await engine.finished(id);
    expect(run).toMatchObject({ status: 'succeeded', output: '{"join":{"logged":true}}' });
    expect(new Set(Object.values(statuses(run)))).toEqual(new Set(['succeeded']));
  });

  it('a fault at one node does not wait for the people who are asked about another', async () => {
    const endFaults = await failFirstWrites(database, { condition: "new.status = 'skipped'", times: 1 });
    const { id } = await start([gated('a', { onRejected: 'skip' }), gated('b')]);
    await nodeReads(id, 'b', 'waiting');
    await decideNode(id, 'a', 'reject');
    await nodeReads(id, 'a', 'skipped');
    await endFaults();
    await decideNode(id, 'b', 'approve');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(tools.callsTo('/payments').length).toBe(1);
  });

  it('waits for gated nodes at the end of the plan, too', async () => {
    const { id } = await start([gated('a'), gated('b')]);
    await decideNode(id, 'a', 'approve');
    await nodeReads(id, 'a', 'succeeded');
    expect((await engine.engine.runs.get(id))?.status).toBe('waiting');
    await decideNode(id, 'b', 'approve');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(tools.callsTo('/payments').length).toBe(2);
  });

  it('fails on a rejection by default, withdraws what else is asked, and starts nothing more', async () => {
    const { id } = await start([gated('a'), free('after', { dependsOn: ['a'] }), gated('b')]);
    await nodeReads(id, 'b', 'waiting');
    await decideNode(id, 'a', 'reject');
    const run = await engine.finished(id);
    expect(run).toMatchObject({
      status: 'failed',
      error: {
        code: 'node_blocked',
        message: 'Node "a" was blocked (rejected). The reason given: "said so"',
      },
    });
    expect(run.invocations).toMatchObject([
      { node: 'a', status: 'blocked', error: { code: 'rejected' } },
      { node: 'b', status: 'blocked', error: { code: 'cancelled' } },
    ]);
    expect(tools.calls).toEqual([]);
  });

  it('skips a rejected node and what depends on it, where the plan says skip', async () => {
    const { id } = await start([
      gated('a', { onRejected: 'skip' }),
      free('after', { dependsOn: ['a'] }),
      free('later', { dependsOn: ['after'] }),
      free('other'),
    ]);
    await decideNode(id, 'a', 'reject');
    const run = await engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(statuses(run)).toEqual({ a: 'skipped', after: 'skipped', later: 'skipped', other: 'succeeded' });
    expect(run.invocations.find(({ node }) => node === 'a')?.error?.code).toBe('rejected');
    expect(tools.calls.length).toBe(1);
  });

  it('goes on with the blocked result, where the plan says continue', async () => {
    const { id } = await start([
      gated('a', { onRejected: 'continue' }),
      toolNode('after', 'oa__log', { why: { $from: 'a', path: '/reason' }, all: { $from: 'a' } }),
    ]);
    await decideNode(id, 'a', 'reject');
    expect((await engine.finished(id)).status).toBe('succeeded');
    expect(tools.calls[0]?.body).toMatchObject({
      why: 'said so',
      all: { status: 'blocked', executed: false },
    });
  });

  it('takes arguments out of other results, before the gate sees the call', async () => {
    const { id } = await start([
      toolNode('first', 'oa__pay_freely', PAYMENT),
      toolNode('second', 'oa__pay', { payee: 'Acme Ltd', amount: { $from: 'first', path: '/total' } }),
    ]);
    const [request] = await engine.asked(id);
    expect(request?.args).toEqual({ payee: 'Acme Ltd', amount: '10.00' });
    if (request) await engine.decide(request.id, 'approve');
    expect((await engine.finished(id)).status).toBe('succeeded');
  });

  it('blocks a node whose reference leads nowhere, and names it', async () => {
    const { id } = await start([
      free('first'),
      toolNode('second', 'oa__pay', { payee: { $from: 'first', path: '/nobody' }, amount: '1' }),
    ]);
    const run = await engine.finished(id);
    expect(run.invocations[1]).toMatchObject({
      status: 'blocked',
      error: { code: 'invalid_arguments', message: 'The result of node "first" has nothing at "/nobody".' },
    });
    expect(run.status).toBe('failed');
  });

  it('fails on a tool that failed; what already runs comes to its end', async () => {
    const { id } = await start([
      toolNode('a', 'oa__pay_refused', PAYMENT),
      free('after', { dependsOn: ['a'] }),
    ]);
    await decideNode(id, 'a', 'approve');
    const run = await engine.finished(id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'node_failed' } });
    expect(statuses(run)).toEqual({ a: 'failed' });
  });

  it.each(['succeeded', 'failed'] as const)(
    'holds what depends on an unknown outcome until a person settles it as %s',
    async (status) => {
      const { id } = await start([
        toolNode('a', 'oa__pay_broken', PAYMENT),
        free('after', { dependsOn: ['a'] }),
        free('other'),
      ]);
      await decideNode(id, 'a', 'approve');
      await nodeReads(id, 'a', 'unknown');
      await nodeReads(id, 'other', 'succeeded');
      const held = await engine.engine.runs.wait({
        id,
        timeoutMs: 5_000,
        untilWaiting: true,
        signal: AbortSignal.timeout(5_000),
      });
      expect(held?.status).toBe('waiting');
      expect(statuses(held)).toEqual({ a: 'unknown', other: 'succeeded' });
      const confirmation = held?.invocations.find(({ node }) => node === 'a')?.confirmation;
      if (!confirmation) throw new Error('the node has no confirmation');
      await until(async () => {
        await endOldAttempt(database, confirmation);
        const settled = await engine.confirmations.settle({
          id: confirmation,
          person: personId('li.wei'),
          status,
          detail: 'looked it up',
          surface: { kind: 'api' },
        });
        return settled.kind === 'settled';
      });
      const run = await engine.finished(id);
      // Decided about first, and then to be settled: whoever listens is told of the same request twice.
      const waits = (await engine.events(id)).filter(({ kind }) => kind === 'run.waiting');
      expect(waits.map(({ data }) => data.confirmation)).toEqual([confirmation, confirmation]);
      expect(run.status).toBe(status);
      expect(statuses(run)).toEqual({
        a: status,
        other: 'succeeded',
        ...(status === 'succeeded' && { after: 'succeeded' }),
      });
      expect(tools.callsTo('/broken').length).toBe(1);
    },
  );

  it('holds a call without confirmation until the run is cancelled: nobody can settle it', async () => {
    const { id } = await start([
      toolNode('a', 'oa__pay_freely_broken', PAYMENT),
      free('after', { dependsOn: ['a'] }),
    ]);
    await until(async () => (await engine.engine.runs.get(id))?.status === 'waiting');
    expect(await engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled' });
    expect(statuses(await engine.engine.runs.get(id))).toEqual({ a: 'unknown' });
  });

  it('an evaluation stubs what needs the result of a stubbed call, and runs the rest', async () => {
    const needs = { payee: 'Acme Ltd', amount: { $from: 'pay', path: '/total' } };
    const plan = [
      gated('pay', { onRejected: 'skip' }),
      toolNode('note', 'oa__log', { about: [{ $from: 'pay', path: '/id' }] }),
      toolNode('again', 'oa__pay', needs),
      toolNode('later', 'oa__log', { said: { $from: 'note' } }),
      free('behind', { dependsOn: ['again'] }),
    ];
    const { id } = await engine.start({ agent: agentId('planner'), plan, evaluation: true });
    const run = await engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(statuses(run)).toEqual({
      ...{ pay: 'stubbed', note: 'stubbed', again: 'stubbed', later: 'stubbed' },
      behind: 'succeeded',
    });
    const message = 'It needs the result of node "pay", which an evaluation does not run.';
    expect(run.invocations.find(({ node }) => node === 'again')).toMatchObject({
      args: needs,
      confirmation: null,
      error: { code: 'depends_on_stub', message },
    });
    expect(JSON.parse(run.output ?? '')).toEqual({
      later: { status: 'stubbed', executed: false, message: expect.stringContaining('"note"') },
      behind: { logged: true },
    });
    expect(tools.calls.map(({ path }) => path)).toEqual(['/log']);
    const events = await engine.recorded(id);
    expect(events.filter(({ kind }) => kind === 'tool.stubbed').map(({ data }) => data.code)).toEqual([
      null,
      ...Array(3).fill('depends_on_stub'),
    ]);
  });

  it('runs an agent as a node, as a run of its own, and waits while its call waits', async () => {
    model.script('helper', [
      { calls: [{ id: 'c', name: 'oa__pay', arguments: PAYMENT }] },
      { text: 'I was not allowed to.' },
    ]);
    const { id } = await start([
      agentNode('part', 'helper'),
      toolNode('after', 'oa__log', { said: { $from: 'part' } }),
    ]);
    await nodeReads(id, 'part', 'waiting');
    const parent = await engine.engine.runs.get(id);
    expect(parent).toMatchObject({ status: 'waiting', childRuns: [expect.any(String)] });
    const child = parent?.childRuns[0];
    if (!child) throw new Error('there is no child run');
    expect(await engine.engine.runs.get(child)).toMatchObject({
      parentRun: id,
      status: 'waiting',
      agent: 'helper',
    });
    const [request] = await engine.asked(child);
    if (request) await engine.decide(request.id, 'reject');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(tools.calls.map(({ path, body }) => [path, body])).toEqual([
      ['/log', { said: 'I was not allowed to.' }],
    ]);
  });
});
