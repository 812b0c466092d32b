import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createConfirmationLedger } from '../../src/db/confirmation-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, personId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { ModelServer, toolResult, toolResults } from './model-server.ts';
import { agent, NO_LIMITS, sampleConfig } from './sample-config.ts';
import { type Seen, sampleHooks } from './sample-hooks.ts';
import { ToolServer } from './tool-server.ts';

const BOSS = agentId('boss');
const delegate = (id: string, to: string, input = 'Pay Acme.') => ({
  id,
  name: 'call_agent',
  arguments: { agent: to, input },
});
const PAY = { id: 'p', name: 'oa__pay', arguments: { payee: 'Acme Ltd', amount: '10.00' } };

describe('delegates', () => {
  const seen: Seen = { settled: [], results: [], sessions: [] };
  // As some servers are: it knows of no streams, though it is asked for one.
  const model = new ModelServer({ streams: false });
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
        agents: [
          agent('boss', { delegates: [agentId('clerk'), agentId('mirror')], tools: ['oa__weather'] }),
          agent('clerk', { hooks: [{ name: 'deny-log', options: {} }], limits: { ...NO_LIMITS, turns: 3 } }),
          agent('careful', { delegates: [agentId('clerk')], requireConfirmationForAll: true }),
          agent('chair', { delegates: [agentId('careful')] }),
          agent('mirror', { delegates: [agentId('mirror')] }),
        ],
      }),
      hookKinds: sampleHooks(seen),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
    model.requests.length = 0;
  });

  it('work as runs of their own under their own hooks, and the parent waits while they wait', async () => {
    model.script('boss', [{ calls: [delegate('d', 'clerk', 'Pay Acme 10.')] }, { text: 'All done.' }]);
    model.script('clerk', [
      { calls: [PAY, { id: 'l', name: 'oa__log' }] },
      { text: 'Paid; the log is closed to me.' },
    ]);
    const { id } = await engine.start({
      agent: BOSS,
      session: 's',
      requester: personId('zhao.min'),
      requesterNamedByAgent: true,
    });
    const parent = await until(async () => {
      const run = await engine.engine.runs.get(id);
      return run?.status === 'waiting' && run.childRuns.length === 1 ? run : null;
    });
    expect(parent.invocations).toMatchObject([{ tool: 'call_agent', status: 'waiting', confirmation: null }]);
    const child = parent.childRuns[0];
    if (!child) throw new Error('there is no child run');
    const [request, ...others] = await engine.asked(child);
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      runId: child,
      parentRunId: id,
      agent: 'clerk',
      requester: { id: 'zhao.min' },
      requesterNamedByAgent: true,
    });
    if (request) await engine.decide(request.id, 'approve');
    const run = await engine.finished(id);
    const waits = (await engine.events(id)).filter(({ kind }) => kind === 'run.waiting');
    expect(waits.map(({ data }) => data)).toEqual([
      { invocation: parent.invocations[0]?.id, confirmation: null, run: child },
    ]);
    expect(run).toMatchObject({
      status: 'succeeded',
      output: 'All done.',
      invocations: [{ status: 'succeeded', result: 'Paid; the log is closed to me.' }],
    });
    expect(tools.callsTo('/payments').length).toBe(1);
    expect(await engine.engine.runs.get(child)).toMatchObject({
      parentRun: id,
      session: 's',
      input: 'Pay Acme 10.',
      apiKeyId: null,
      invocations: [{ status: 'succeeded' }, { status: 'blocked', error: { code: 'denied_by_hook' } }],
    });
    const bossSaw = toolResults(model.requestsOf('boss')[1]);
    expect(bossSaw).toEqual(['Paid; the log is closed to me.']);
  });

  it('that fail come back as a failure in words', async () => {
    model.script('boss', [{ calls: [delegate('d', 'clerk')] }, { text: 'A pity.' }]);
    model.script('clerk', [{ status: 401 }]);
    const run = await engine.finished((await engine.start({ agent: BOSS })).id);
    expect(run).toMatchObject({ status: 'succeeded', invocations: [{ status: 'failed' }] });
    expect(toolResult(model.requestsOf('boss')[1])).toMatchObject({
      status: 'failed',
      code: 'tool_failed',
      message: expect.stringContaining('status 401'),
    });
  });

  it('are only those of the list, and have no tool that they do not declare', async () => {
    model.script('boss', [
      {
        calls: [
          delegate('d', 'boss'),
          { id: 'e', name: 'call_agent', arguments: { agent: 'clerk' } },
          { ...PAY, id: 'f' },
        ],
      },
      { text: 'I see.' },
    ]);
    const run = await engine.finished((await engine.start({ agent: BOSS })).id);
    expect(run.childRuns).toEqual([]);
    expect(run.invocations.map(({ error }) => error?.code)).toEqual([
      'invalid_arguments',
      'invalid_arguments',
      'unknown_tool',
    ]);
    expect(model.requestsOf('boss')[0]?.tools?.map((tool) => tool.function.name)).toEqual([
      'oa__weather',
      'call_agent',
    ]);
  });

  it('can be nested only so deep', async () => {
    const again = { calls: [delegate('d', 'mirror')] };
    model.script('boss', [{ calls: [delegate('d', 'mirror')] }, { text: 'Enough.' }]);
    model.script('mirror', [again, again, again, { text: '3' }, { text: '2' }, { text: '1' }]);
    const run = await engine.finished((await engine.start({ agent: BOSS })).id);
    expect(run.status).toBe('succeeded');
    expect(JSON.stringify(model.requestsOf('mirror').map(toolResults))).toContain('at most 4 deep');
  });

  it.each([
    ['in one run', 'careful'],
    ['in a run and all that it starts', 'chair'],
  ])('can be only so many %s', async (_where, root) => {
    model.script('chair', [{ calls: [delegate('d', 'careful')] }, { text: 'Enough.' }]);
    model.script('careful', [{ calls: [delegate('d', 'clerk')] }, { text: 'Enough.' }]);
    const { id } = await engine.start({ agent: agentId(root) });
    const caller =
      root === 'careful' ? id : await until(async () => (await engine.engine.runs.get(id))?.childRuns[0]);
    const [request] = await engine.asked(caller);
    await database.connection.execute(sql`
      insert into runs (id, organization, agent, executor, status, input, session, requester_named_by_agent,
                        evaluation, parent_run, parent_invocation, depth, finished_at)
      select gen_random_uuid(), 'acme', 'clerk', 'react', 'succeeded', '', '', false, false, ${id}, gen_random_uuid(),
             1, now() from generate_series(1, ${root === 'careful' ? 100 : 99})`);
    if (request) await engine.decide(request.id, 'approve');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'Enough.' });
    expect(toolResult(model.requestsOf('careful')[1])).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('at most 100 times'),
    });
    expect(model.requestsOf('clerk')).toEqual([]);
  });

  it('may take longer than any outcome: an approved call of one is not given up while it lives', async () => {
    model.script('careful', [{ calls: [delegate('d', 'clerk')] }, { text: 'Done.' }]);
    model.script('clerk', [{ calls: [PAY] }, { text: 'Paid.' }]);
    const { id } = await engine.start({ agent: agentId('careful') });
    const [toDelegate] = await engine.asked(id);
    if (!toDelegate) throw new Error('nobody was asked');
    await engine.decide(toDelegate.id, 'approve');
    const child = await until(async () => (await engine.engine.runs.get(id))?.childRuns[0]);
    const [toPay] = await engine.asked(child);
    await database.connection.execute(sql`
      update confirmations set claimed_at = claimed_at - interval '2 days', send_by = send_by - interval '2 days'
      where id = ${toDelegate.id}`);
    const ledger = createConfirmationLedger({
      database,
      onNotifyFailed: () => {},
      onUnreadable: () => {},
    });
    expect((await ledger.due(100)).toUnknown).toEqual([]);
    if (toPay) await engine.decide(toPay.id, 'approve');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'Done.' });
    expect(await engine.confirmations.get(toDelegate.id)).toMatchObject({
      execution: { status: 'succeeded' },
    });
  });

  it('stop with their parent, and their requests are withdrawn', async () => {
    model.script('boss', [{ calls: [delegate('d', 'clerk')] }, { text: 'never said' }]);
    model.script('clerk', [{ calls: [PAY] }, { text: 'never said' }]);
    const { id } = await engine.start({ agent: BOSS });
    const child = await until(async () => (await engine.engine.runs.get(id))?.childRuns[0]);
    const [request] = await engine.asked(child);
    expect(await engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled' });
    expect(await engine.engine.runs.get(child)).toMatchObject({ status: 'cancelled' });
    expect(request && (await engine.confirmations.get(request.id))?.status).toBe('cancelled');
    expect(tools.calls).toEqual([]);
  });
});
