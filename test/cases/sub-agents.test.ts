import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PlanNode } from '../../src/agent/plan.ts';
import type { Run } from '../../src/agent/run.ts';
import { systemClock } from '../../src/clock.ts';
import { createRunStore } from '../../src/db/run-store.ts';
import { agentId, type RunId } from '../../src/ids.ts';
import { agentNode, type EngineFixture, toolNode } from '../agent/engine-fixture.ts';
import { toolResults } from '../agent/model-server.ts';
import { agent } from '../agent/sample-config.ts';
import { until } from '../support/until.ts';
import {
  BUYER,
  type Call,
  type CaseRig,
  mute,
  onlyRequest,
  PAYMENT,
  pay,
  script,
  startRig,
  vote,
} from './case-rig.ts';

const delegate = (input: string, to = 'clerk'): Call => ({ tool: 'call_agent', args: { agent: to, input } });

/** Both ways in which a run hands work to another agent. */
const PARENTS = [
  {
    executor: 'ReAct',
    start: (engine: EngineFixture, input: string, to = 'clerk', evaluation = false) =>
      engine.start({ agent: BUYER, input: script([delegate(input, to)]), evaluation }),
  },
  {
    executor: 'DAG',
    start: (engine: EngineFixture, input: string, to = 'clerk', evaluation = false) =>
      engine.start({ agent: BUYER, plan: [agentNode('part', to, [], input)], evaluation }),
  },
];

describe('the gate of a delegate', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({
      agents: [
        agent('buyer', { delegates: ['clerk', 'mirror', 'planner', 'middle'].map(agentId) }),
        agent('middle', { delegates: [agentId('clerk')] }),
        agent('clerk'),
        agent('mirror', { delegates: [agentId('mirror')] }),
        agent('planner', { executor: 'dag' }),
      ],
      change: (config) => ({
        ...config,
        policies: [
          ...config.policies,
          {
            ...(config.policies[0] as (typeof config.policies)[number]),
            id: 'soon',
            tools: ['oa__pay_slowly'],
            decideWithinMs: 1_000,
          },
        ],
      }),
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    rig.model.requests.length = 0;
  });

  const childOf = (id: RunId): Promise<RunId> =>
    until(async () => (await rig.engine.engine.runs.get(id))?.childRuns[0], { what: 'a child run' });
  const runOf = async (id: RunId): Promise<Run> => {
    const run = await rig.engine.engine.runs.get(id);
    if (!run) throw new Error(`run ${id} is gone`);
    return run;
  };
  const reads = (id: RunId, status: Run['status']) =>
    until(async () => (await runOf(id)).status === status, { what: `run ${id} reads ${status}` });

  describe.each(PARENTS)('called through $executor', ({ start }) => {
    it('011, 013, 014: asks under the child’s own run, the parent waits, and only that call goes on', async () => {
      const bystander = await rig.engine.start({ agent: BUYER, input: script([pay('77.00')]) });
      const other = await onlyRequest(rig.engine, bystander.id);
      const { id } = await start(rig.engine, script([pay()]));
      const child = await childOf(id);
      const request = await onlyRequest(rig.engine, child);
      expect(request).toMatchObject({ runId: child, parentRunId: id, agent: 'clerk' });
      await reads(id, 'waiting');
      expect(rig.payments.calls).toEqual([]);
      await rig.engine.decide(request.id, 'approve');
      expect(await rig.engine.finished(id)).toMatchObject({
        status: 'succeeded',
        invocations: [{ result: 'Done.' }],
      });
      expect(rig.payments.calls.map(({ body }) => body)).toEqual([PAYMENT]);
      expect(toolResults(rig.model.requestsOf('buyer').at(-1)).join()).not.toMatch(/error|failed/i);
      expect((await rig.engine.confirmations.get(other.id))?.status).toBe('pending');
      await rig.engine.engine.runs.cancel(bystander.id);
    });

    it('016: a rejection is the child’s to see, and nothing runs', async () => {
      const { id } = await start(rig.engine, script([pay()]));
      const request = await onlyRequest(rig.engine, await childOf(id));
      await rig.engine.decide(request.id, 'reject', 'not this supplier');
      expect((await rig.engine.finished(id)).status).toBe('succeeded');
      expect(JSON.parse(toolResults(rig.model.requestsOf('clerk').at(-1))[0] ?? '')).toMatchObject({
        status: 'blocked',
        code: 'rejected',
        reason: 'not this supplier',
        executed: false,
      });
      expect(rig.payments.calls).toEqual([]);
    });

    it('asks nobody in an evaluation, of which the child’s run is a part, and runs nothing that is gated', async () => {
      const { id } = await start(rig.engine, script([pay(), { tool: 'oa__weather' }]), 'clerk', true);
      expect(await rig.engine.finished(id)).toMatchObject({
        status: 'succeeded',
        invocations: [{ status: 'succeeded', result: 'Done.' }],
      });
      const child = await childOf(id);
      const { invocations } = await runOf(child);
      expect(invocations.map(({ tool, status }) => [tool, status])).toEqual([
        ['oa__pay', 'stubbed'],
        ['oa__weather', 'succeeded'],
      ]);
      const kinds = (await rig.engine.recorded(child)).map(({ kind }) => kind);
      expect(kinds).toContain('tool.stubbed');
      expect(kinds).not.toContain('confirmation.requested');
      expect(rig.payments.calls.map(({ path }) => path)).toEqual(['/weather']);
    });

    it('stops with its caller, also where the caller was cancelled while nobody worked on it', async () => {
      const first = await rig.another();
      const { id } = await start(first, script([pay()]));
      const child = await childOf(id);
      const request = await onlyRequest(rig.engine, child);
      await reads(id, 'waiting');
      // Both runs are given back at once, and by then the caller is no longer wanted.
      await rig.database.connection.execute(sql`
        create or replace function cancel_too() returns trigger language plpgsql as $$
        begin
          update runs set cancel_requested_at = clock_timestamp() where finished_at is null and parent_run is null;
          return old;
        end $$;
        create trigger cancel_too before delete on run_workers for each row execute function cancel_too()`);
      await first.stop();
      await rig.database.connection.execute(sql`drop trigger cancel_too on run_workers`);
      expect(await rig.engine.finished(id)).toMatchObject({ status: 'cancelled' });
      expect(await rig.engine.finished(child)).toMatchObject({ status: 'cancelled' });
      expect((await rig.engine.confirmations.get(request.id))?.status).toBe('cancelled');
      expect(rig.payments.calls).toEqual([]);
    });
  });

  it.each(PARENTS)(
    '151: a cancellation stops the agents below at once, however deep and in whatever process, and no approval counts after it ($executor)',
    async ({ start }) => {
      const working = await rig.another();
      const { id } = await start(working, script([delegate(script([pay()]), 'clerk')]), 'middle');
      const child = await childOf(id);
      const grandchild = await childOf(child);
      const request = await onlyRequest(working, grandchild);
      // Committed, and heard of by nobody yet.
      await createRunStore({ database: mute(rig.database), clock: systemClock }).requestCancel(id);
      await vote(working, request, 'approve');
      for (const run of [id, child, grandchild])
        expect(await working.finished(run)).toMatchObject({ status: 'cancelled' });
      const after = await rig.engine.confirmations.get(request.id);
      if (after?.status === 'approved')
        expect(after.execution).toMatchObject({ status: expect.stringMatching(/^(failed|revoked)$/) });
      expect((await runOf(grandchild)).invocations).toMatchObject([
        { status: 'blocked', error: { code: expect.stringMatching(/^(cancelled|revoked)$/) } },
      ]);
      expect(rig.payments.calls).toEqual([]);
      await working.stop();
    },
  );

  it('a cancellation of one delegate stops it alone, and its caller is told', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      input: script([delegate(script([pay('1.00')])), delegate(script([pay('2.00')]))]),
    });
    const children = await until(async () => {
      const { childRuns } = await runOf(id);
      return childRuns.length === 2 ? childRuns : null;
    });
    const requests = await Promise.all(children.map((child) => onlyRequest(rig.engine, child)));
    const [stopped, other] = requests;
    if (!stopped?.runId || !other) throw new Error('not both were asked about');
    await rig.engine.engine.runs.cancel(stopped.runId);
    await rig.engine.decide(other.id, 'approve');
    const run = await rig.engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(run.invocations.map(({ status, error }) => error?.code ?? status).toSorted()).toEqual([
      'cancelled',
      'succeeded',
    ]);
    expect((await rig.engine.confirmations.get(stopped.id))?.status).toBe('cancelled');
    expect(rig.payments.calls.map(({ body }) => body.amount)).toEqual([other.args.amount]);
  });

  it.each([
    {
      executor: 'ReAct',
      startAll: (inputs: readonly string[]) =>
        rig.engine.start({ agent: BUYER, input: script(inputs.map((input) => delegate(input))) }),
    },
    {
      executor: 'DAG',
      startAll: (inputs: readonly string[]) =>
        rig.engine.start({
          agent: BUYER,
          plan: inputs.map((input, place) => ({ ...agentNode(`part${place}`, 'clerk'), input }) as PlanNode),
        }),
    },
  ])(
    '014: of three at once, each gets the end that was its own: approved, rejected, expired ($executor)',
    async ({ startAll }) => {
      const amounts = ['1.00', '2.00', '3.00'];
      const soon = (amount: string): Call => ({ ...pay(amount), tool: 'oa__pay_slowly' });
      const { id } = await startAll(
        amounts.map((amount) => script([amount === '3.00' ? soon(amount) : pay(amount)])),
      );
      const children = await until(async () => {
        const { childRuns } = await runOf(id);
        return childRuns.length === 3 ? childRuns : null;
      });
      const requests = await Promise.all(
        children.map((child) =>
          until(async () => {
            const asked = (await runOf(child)).invocations[0]?.confirmation;
            return asked && rig.engine.confirmations.get(asked);
          }),
        ),
      );
      const requestFor = (amount: string) => {
        const found = requests.find(({ args }) => args.amount === amount);
        if (!found?.runId) throw new Error(`nobody is asked about ${amount}`);
        return { ...found, runId: found.runId };
      };
      await reads(id, 'waiting');
      await rig.engine.decide(requestFor('2.00').id, 'reject', 'not this supplier');
      await rig.engine.finished(requestFor('2.00').runId);
      expect((await runOf(id)).status).toBe('waiting');
      await rig.engine.finished(requestFor('3.00').runId);
      await rig.engine.decide(requestFor('1.00').id, 'approve');
      expect((await rig.engine.finished(id)).status).toBe('succeeded');
      const ends = await Promise.all(
        amounts.map(async (amount) => (await runOf(requestFor(amount).runId)).invocations),
      );
      expect(ends.map(([call]) => call?.error?.code ?? call?.status)).toEqual([
        'succeeded',
        'rejected',
        'expired',
      ]);
      expect(ends.map(({ length }) => length)).toEqual([1, 1, 1]);
      expect(rig.payments.calls.map(({ body }) => body.amount)).toEqual(['1.00']);
    },
  );

  it('017: the caller gets what the delegate said in the end, not what it was given', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      input: script([delegate(script([{ tool: 'oa__weather' }]))]),
    });
    expect((await rig.engine.finished(id)).invocations).toMatchObject([
      { tool: 'call_agent', result: 'Done.' },
    ]);
  });

  it.each(PARENTS)(
    '017: a plan with a gated node in it, called as a tool, is waited for to its end, and its output is the result ($executor)',
    async ({ start }) => {
      const nodes = [
        { id: 'pay', tool: 'oa__pay', args: { payee: 'Acme Ltd', amount: '10.00' } },
        { id: 'note', tool: 'oa__log', args: { payment: { $from: 'pay', path: '/payment' } } },
      ];
      const input = script([{ tool: 'propose_plan', args: { nodes } }]);
      const { id } = await start(rig.engine, input, 'planner');
      const child = await childOf(id);
      const request = await onlyRequest(rig.engine, child);
      await reads(id, 'waiting');
      expect(rig.model.requestsOf('buyer').length).toBeLessThan(2);
      await rig.engine.decide(request.id, 'approve');
      const run = await rig.engine.finished(id);
      const output = JSON.stringify({ note: { logged: true } });
      expect(await runOf(child)).toMatchObject({ status: 'succeeded', output });
      expect(run.invocations).toMatchObject([{ tool: 'call_agent', status: 'succeeded', result: output }]);
      expect(rig.payments.calls.map(({ path }) => path)).toEqual(['/payments', '/log']);
      expect(rig.payments.callsTo('/log').map(({ body }) => body)).toEqual([{ payment: 'P-1' }]);
    },
  );

  it('a failed plan stops the agents that it started, and withdraws what they ask', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      plan: [
        { ...agentNode('part', 'clerk'), input: script([pay()]) } as ReturnType<typeof agentNode>,
        toolNode('own', 'oa__pay', { ...PAYMENT, amount: '2.00' }),
      ],
    });
    const child = await childOf(id);
    const asked = await onlyRequest(rig.engine, child);
    const own = await until(async () =>
      (await rig.engine.asked(id, 2).catch(() => [])).find(({ args }) => args.amount === '2.00'),
    );
    await rig.engine.decide(own.id, 'reject');
    expect(await rig.engine.finished(id)).toMatchObject({
      status: 'failed',
      error: { code: 'node_blocked' },
    });
    expect((await runOf(child)).status).toBe('cancelled');
    expect((await rig.engine.confirmations.get(asked.id))?.status).toBe('cancelled');
    expect(rig.payments.calls).toEqual([]);
  });

  it('an agent that calls itself through itself ends, however it insists', async () => {
    let input = script([pay()]);
    for (let depth = 0; depth < 5; depth += 1) input = script([delegate(input, 'mirror')]);
    const { id } = await rig.engine.start({ agent: BUYER, input });
    expect((await rig.engine.finished(id)).status).toBe('succeeded');
    expect(rig.payments.calls).toEqual([]);
    expect(JSON.stringify(rig.model.requestsOf('mirror').map(toolResults))).toContain('at most 4 deep');
  });

  it('an agent that works by plan makes one when it is called, and nothing in it runs unapproved', async () => {
    const plan = { nodes: [{ id: 'pay', tool: 'oa__pay', args: { payee: 'Acme Ltd', amount: '10.00' } }] };
    const planned = script([{ tool: 'propose_plan', args: plan }]);
    const { id } = await rig.engine.start({ agent: BUYER, input: script([delegate(planned, 'planner')]) });
    const child = await until(async () => (await rig.engine.engine.runs.get(id))?.childRuns[0] ?? null);
    const [request] = await rig.engine.asked(child);
    if (!request) throw new Error('nobody was asked');
    await rig.engine.decide(request.id, 'reject');
    expect(await rig.engine.finished(child)).toMatchObject({
      status: 'failed',
      error: { code: 'node_blocked' },
    });
    expect((await rig.engine.finished(id)).invocations).toMatchObject([{ status: 'failed' }]);
  });

  it('139: behind an agent whose own plan was rejected no node of its caller’s plan begins', async () => {
    const plan = { nodes: [{ id: 'pay', tool: 'oa__pay', args: { payee: 'Acme Ltd', amount: '10.00' } }] };
    const { id } = await rig.engine.start({
      agent: BUYER,
      plan: [
        agentNode('part', 'planner', [], script([{ tool: 'propose_plan', args: plan }])),
        toolNode('after', 'oa__log', {}, { dependsOn: ['part'] }),
      ],
    });
    const request = await onlyRequest(rig.engine, await childOf(id));
    await reads(id, 'waiting');
    await rig.engine.decide(request.id, 'reject');
    expect(await rig.engine.finished(id)).toMatchObject({
      status: 'failed',
      output: null,
      error: { code: 'node_failed' },
      invocations: [{ node: 'part', status: 'failed', result: null }],
    });
    expect(rig.payments.calls).toEqual([]);
  });
});
