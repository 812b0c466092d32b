import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LeaseLost } from '../../src/agent/run-record.ts';
import type { RunLease, RunStore } from '../../src/agent/run-store.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { ConfirmationRequest } from '../../src/confirmation/confirmation-request.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { createRunStore } from '../../src/db/run-store.ts';
import type { PostToolUseContext } from '../../src/hook/hook-context.ts';
import { agentId, newInvocationId, newRunId, type RunId } from '../../src/ids.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { ModelServer, toolResult } from './model-server.ts';
import { agent, sampleConfig, withTools } from './sample-config.ts';
import { sampleHooks } from './sample-hooks.ts';
import { ToolServer } from './tool-server.ts';

const BUYER = agentId('buyer');
const PAYMENT = { payee: 'Acme Ltd', amount: '10.00' };
const PAY = { id: 'p', name: 'oa__pay', arguments: PAYMENT };
const LOG = { id: 'l', name: 'oa__log' };

const clockOff = (byMs: number): Clock => ({ ...systemClock, now: () => systemClock.now() + byMs });

/** What a process leaves behind, and what the next one makes of it. Each process has its own connections. */
describe('a run whose process is gone', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let url: string;
  let config: ReturnType<typeof sampleConfig>;
  let database: Database;
  const open: { engine: EngineFixture; database: Database }[] = [];

  beforeAll(async () => {
    url = await newPostgresDatabase();
    database = await connectPostgres({ url });
    config = sampleConfig({
      modelUrl: await model.start(),
      toolUrl: await tools.start(),
      agents: [agent('buyer', { delegates: [agentId('clerk')] }), agent('clerk')],
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

  async function startProcess(changes: Partial<Parameters<typeof startEngine>[0]> = {}) {
    const own = await connectPostgres({ url, poolSize: 4 });
    const engine = await startEngine({ database: own, config, ...changes });
    open.push({ engine, database: own });
    return engine;
  }
  /** As if it had been killed: its lease is over, and it knows nothing of it. */
  const endLeases = () => database.connection.execute(sql`delete from run_workers`);
  const stopInOrder = async (engine: EngineFixture) => {
    const index = open.findIndex((process) => process.engine === engine);
    const [process] = open.splice(index, 1);
    await process?.engine.stop();
    await process?.database.close();
  };
  /** Approved, claimed, and on record how it ended, while nobody works on its run: the lease is another's. */
  async function concludeWhileHeld(
    { id, runId, args }: ConfirmationRequest,
    outcome: { readonly status: 'succeeded' | 'failed'; readonly detail: string | null },
    reason?: string,
  ): Promise<void> {
    if (runId === null) throw new Error('no run asked');
    const between = await startProcess();
    const actor = { type: 'run', run: runId, agent: BUYER } as const;
    await database.connection.execute(
      sql`update runs set lease_owner = 'held', fencing_token = fencing_token + 1 where id = ${runId}`,
    );
    await store().heartbeat({ owner: 'held', leaseMs: 60_000 });
    await between.decide(id, 'approve', reason);
    await between.confirmations.claim({ id, actor, args });
    await between.confirmations.recordOutcome({ id, actor, ...outcome });
    await stopInOrder(between);
  }
  const store = () => createRunStore({ database, clock: systemClock });

  it('goes on waiting for the same person, and runs the call once', async () => {
    model.script('buyer', [{ calls: [LOG, PAY] }, { text: 'Paid.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await until(() => tools.callsTo('/log').length === 1);
    await stopInOrder(first);
    expect(await store().find(id)).toMatchObject({ status: 'waiting' });

    const second = await startProcess();
    if (request) await second.decide(request.id, 'approve');
    const run = await second.finished(id);
    expect(run).toMatchObject({ status: 'succeeded', output: 'Paid.' });
    expect(run.invocations.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
    // What had run before does not run again, and the model is asked once more, not twice.
    expect(tools.callsTo('/log').length).toBe(1);
    expect(tools.callsTo('/payments').length).toBe(1);
    expect(model.requests.length).toBe(2);
    expect(model.requests[1]?.messages.filter(({ role }) => role === 'tool').length).toBe(2);
  });

  it('is drained by an orderly stop: a call that is being sent comes to its end, and is told once', async () => {
    model.script('buyer', [{ calls: [{ ...PAY, name: 'oa__pay_slowly' }] }, { text: 'Paid.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    if (request) await first.decide(request.id, 'approve');
    await until(() => tools.callsTo('/slow').length === 1);
    await stopInOrder(first);
    const second = await startProcess();
    expect(await second.finished(id)).toMatchObject({
      status: 'succeeded',
      invocations: [{ status: 'succeeded', result: { slow: true } }],
    });
    expect(tools.callsTo('/slow').length).toBe(1);
    expect(request && (await second.confirmations.get(request.id))).toMatchObject({
      execution: { status: 'succeeded', source: 'executor' },
    });
  });

  it('goes on under the hooks of its next process, and the record says which calls were judged under which', async () => {
    const under = (...names: string[]) => ({
      hookKinds: sampleHooks({ settled: [], results: [], sessions: [] }),
      config: {
        ...config,
        agents: config.agents.map((one) => ({
          ...one,
          hooks: one.id === BUYER ? names.map((name) => ({ name, options: {} })) : [],
        })),
      },
    });
    model.script('buyer', [{ calls: [PAY] }, { calls: [LOG] }, { text: 'Paid.' }]);
    const first = await startProcess(under('note'));
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    const unchanged = await startProcess(under('note'));
    await until(() => unchanged.waits() === 1);
    await stopInOrder(unchanged);
    const next = await startProcess(under('note', 'redact', 'deny-log'));
    if (request) await next.decide(request.id, 'approve');
    const run = await next.finished(id);
    expect(run.invocations.map(({ tool, status }) => [tool, status])).toEqual([
      ['oa__pay', 'succeeded'],
      ['oa__log', 'blocked'],
    ]);

    const chains = (await next.recorded(id)).flatMap(({ kind, data }) =>
      kind === 'run.started' || kind === 'hooks.changed' ? data.hooks : [],
    ) as { revision: string; chain: string[] }[];
    expect(chains.map(({ chain }) => chain)).toEqual([
      ['PreToolUse/confirmation-gate', 'ToolSettled/note'],
      ['PreToolUse/deny-log', 'PreToolUse/confirmation-gate', 'PostToolUse/redact', 'ToolSettled/note'],
    ]);
    const judged = await rowsOf<{ tool: string; revision: string }>(
      database.connection,
      sql`select tool, hook_revision as revision from invocations where run_id = ${id} order by turn`,
    );
    expect(judged).toEqual([
      { tool: 'oa__pay', revision: chains[0]?.revision },
      { tool: 'oa__log', revision: chains[1]?.revision },
    ]);
    expect(chains[0]?.revision).not.toBe(chains[1]?.revision);
    const [row] = await rowsOf<{ revision: string }>(
      database.connection,
      sql`select hook_chain ->> 'revision' as revision from runs where id = ${id}`,
    );
    expect(row?.revision).toBe(chains[1]?.revision);
  });

  it('asks the model no second time where its answer could not be kept at first', async () => {
    const run = (statement: string) => database.connection.execute(sql.raw(statement));
    await run('create sequence answer_faults');
    await run(`create function answer_fault() returns trigger language plpgsql as $$ begin
      if new.message ->> 'role' = 'assistant' and nextval('answer_faults') <= 2 then raise 'the disk is full'; end if;
      return new;
    end $$`);
    await run(`create trigger answer_fault before insert on run_messages
      for each row execute function answer_fault()`);
    model.script('buyer', [{ calls: [LOG] }, { text: 'Noted.' }]);
    const engine = await startProcess();
    const { id } = await engine.start({ agent: BUYER });
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'Noted.' });
    expect(model.requests.length).toBe(2);
    expect(tools.callsTo('/log').length).toBe(1);
    await run('drop trigger answer_fault on run_messages');
    await run('drop function answer_fault; drop sequence answer_faults');
  });

  it('is decided while nobody works on it, and goes on from there', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'I see.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    const second = await startProcess();
    await stopInOrder(second);
    const third = await startProcess();
    if (request) await third.decide(request.id, 'reject', 'no');
    expect(await third.finished(id)).toMatchObject({ status: 'succeeded', output: 'I see.' });
    expect(toolResult(model.requests[1])).toMatchObject({ code: 'rejected', reason: 'no' });
    expect((await third.events(id)).filter(({ kind }) => kind === 'run.finished').length).toBe(1);
  });

  it('is taken over from a process that lives on without its lease: one of them runs the call', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'Paid.' }, { text: 'Paid twice?' }]);
    const stale = await startProcess();
    const { id } = await stale.start({ agent: BUYER });
    const [request] = await stale.asked(id);
    await endLeases();
    const other = await startProcess();
    await until(async () => {
      const rows = await rowsOf<{ token: number }>(
        database.connection,
        sql`select fencing_token::int as token from runs where id = ${id}`,
      );
      return rows[0]?.token === 2;
    });
    if (request) await other.decide(request.id, 'approve');
    expect(await other.finished(id)).toMatchObject({ status: 'succeeded', output: 'Paid.' });
    expect(tools.callsTo('/payments').length).toBe(1);
    expect(model.requests.length).toBe(2);
  });

  it('finds the request that the gate stored just before the end, and asks nobody twice', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'Paid.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    await database.connection.execute(
      sql`update invocations set phase = 'proposed', status = 'running', confirmation_id = null where run_id = ${id}`,
    );
    const second = await startProcess();
    const [again] = await second.asked(id);
    expect(again?.id).toBe(request?.id);
    if (again) await second.decide(again.id, 'approve');
    const run = await second.finished(id);
    expect(run.invocations).toMatchObject([{ status: 'succeeded', confirmation: request?.id }]);
    const rows = await rowsOf(database.connection, sql`select id from confirmations where run_id = ${id}`);
    expect(rows.length).toBe(1);
  });

  it.each([
    ['asks', async () => {}],
    [
      'gives its call up',
      async () => {
        throw new Error('the database is gone');
      },
    ],
  ])('is asked about once, also where a worker that has lost it %s only now', async (_what, gate) => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'Paid.' }]);
    const stale = await startProcess();
    let asking = false;
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    stale.gateFault = async () => {
      asking = true;
      await held;
      await gate();
    };
    const { id } = await stale.start({ agent: BUYER });
    await until(() => asking);
    await endLeases();
    const other = await startProcess();
    const [request] = await other.asked(id);
    goOn();
    await until(() => stale.engine.activeRuns() === 0);
    if (request) await other.decide(request.id, 'approve');
    expect(await other.finished(id)).toMatchObject({ status: 'succeeded', output: 'Paid.' });
    expect(tools.callsTo('/payments').length).toBe(1);
    const rows = await rowsOf(database.connection, sql`select id from confirmations where run_id = ${id}`);
    expect(rows.length).toBe(1);
  });

  it('is not given up too early by a process whose clock is an hour ahead', async () => {
    model.script('buyer', [{ calls: [{ ...PAY, name: 'oa__pay_slowly' }] }, { text: 'Paid.' }]);
    const stale = await startProcess();
    const { id } = await stale.start({ agent: BUYER });
    const [request] = await stale.asked(id);
    const sent = tools.next();
    if (request) await stale.decide(request.id, 'approve');
    await sent;
    await endLeases();
    const other = await startProcess({ clock: clockOff(3_600_000) });
    expect(await other.finished(id)).toMatchObject({ invocations: [{ status: 'succeeded' }] });
    expect(request && (await other.confirmations.get(request.id))).toMatchObject({
      execution: { status: 'succeeded' },
    });
  });

  it('is told without a new card that a call was rejected, also where its tool reads otherwise by now', async () => {
    model.script('buyer', [{ calls: [PAY] }, { calls: [PAY] }, { text: 'I see.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    const reworded = withTools(config, (all) => all.map((tool) => ({ ...tool, description: 'Pays, now.' })));
    const second = await startProcess({ config: reworded });
    if (request) await second.decide(request.id, 'reject');
    const run = await second.finished(id);
    expect(run.invocations.map(({ error }) => error?.code)).toEqual(['rejected', 'rejected']);
    expect(run.invocations[1]?.confirmation).toBe(null);
  });

  it('never runs again what was being sent: the outcome is unknown, and the model is told so', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'I do not know.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    if (!request) throw new Error('nobody was asked');
    // Decided and claimed; then the process died, long ago.
    const elsewhere = await startProcess();
    await stopInOrder(elsewhere);
    await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
    await database.connection.execute(sql`update confirmations set status = 'approved', version = 2,
      decided_at = now() - interval '1 hour', decided_by_id = 'li.wei', decided_by_name = '李伟', decision_code = 'approved',
      execution_status = 'claimed', executable_from = now() - interval '1 hour', execute_by = now() - interval '50 minutes',
      claimed_at = now() - interval '55 minutes', send_by = now() - interval '54 minutes',
      execution_at = now() - interval '55 minutes' where id = ${request.id}`);
    await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
    await database.connection.execute(
      sql`update invocations set phase = 'executing', status = 'running', executing_at = now() - interval '55 minutes' where run_id = ${id}`,
    );
    // Nor too late, where its clock is an hour behind.
    const second = await startProcess({ clock: clockOff(-3_600_000) });
    const run = await second.finished(id);
    expect(run).toMatchObject({ status: 'succeeded', invocations: [{ status: 'unknown' }] });
    expect(await second.confirmations.get(request.id)).toMatchObject({ execution: { status: 'unknown' } });
    expect(toolResult(model.requests[1])).toMatchObject({ status: 'unknown', executed: null });
    expect(tools.calls).toEqual([]);
  });

  it('tells that an approved call was certainly not sent, where the earlier worker wrote that down', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'I see.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    if (!request) throw new Error('nobody was asked');
    await concludeWhileHeld(request, { status: 'failed', detail: 'not sent' });
    await endLeases();
    const second = await startProcess();
    expect(await second.finished(id)).toMatchObject({
      invocations: [{ status: 'blocked', error: { code: 'lapsed' } }],
    });
    expect(toolResult(model.requests[1])).toMatchObject({ code: 'lapsed', executed: false });
    expect(tools.calls).toEqual([]);
  });

  it('tells the outcome that was written down before the end, with the hooks’ view of it', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'Paid.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    await first.asked(id);
    await stopInOrder(first);
    await database.connection.execute(
      sql`update invocations set phase = 'executed', status = 'succeeded', result = '{"payment":"P-7"}', confirmation_id = null where run_id = ${id}`,
    );
    const second = await startProcess();
    expect(await second.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(toolResult(model.requests[1])).toEqual({ payment: 'P-7' });
    expect(tools.calls).toEqual([]);
  });

  it('tells the approver’s reason with an outcome whose receipt was taken just before the end', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'Paid.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    if (!request) throw new Error('nobody was asked');
    await concludeWhileHeld(request, { status: 'succeeded', detail: null }, 'Contract 7');
    await database.connection.execute(
      sql`update invocations set phase = 'executed', status = 'succeeded', result = '{"payment":"10.00"}' where run_id = ${id}`,
    );
    await endLeases();
    const results: PostToolUseContext[] = [];
    const second = await startProcess({
      hookKinds: sampleHooks({ settled: [], results, sessions: [] }),
      config: {
        ...config,
        agents: config.agents.map((one) => ({ ...one, hooks: [{ name: 'redact', options: {} }] })),
      },
    });
    const run = await second.finished(id);
    expect(toolResult(model.requests[1])).toEqual({
      ...{ status: 'succeeded', executed: true, approvalReasons: ['Contract 7'] },
      result: { payment: '[amount]' },
    });
    // What a person wrote is no part of the result: neither for the hooks nor on the record.
    expect(results.map(({ toolResult: seen }) => seen)).toEqual(['{"payment":"10.00"}']);
    expect(run.invocations).toMatchObject([{ status: 'succeeded', result: { payment: '10.00' } }]);
    expect(tools.calls).toEqual([]);
  });

  it('joins the delegate that it had called, which has gone on by itself', async () => {
    model.script('buyer', [
      { calls: [{ id: 'd', name: 'call_agent', arguments: { agent: 'clerk', input: 'Pay.' } }] },
      { text: 'Done.' },
    ]);
    model.script('clerk', [{ calls: [PAY] }, { text: 'Paid.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const child = await until(async () => (await store().find(id))?.childRuns[0]);
    const [request] = await first.asked(child);
    await until(async () => (await store().statusOf(id)) === 'waiting');
    await stopInOrder(first);
    const second = await startProcess();
    if (request) await second.decide(request.id, 'approve');
    expect(await second.finished(id)).toMatchObject({
      status: 'succeeded',
      output: 'Done.',
      childRuns: [child],
      invocations: [{ status: 'succeeded', result: 'Paid.' }],
    });
    expect(tools.callsTo('/payments').length).toBe(1);
    expect(model.requestsOf('clerk').length).toBe(2);
  });

  it('goes on with its plan: nodes that ended do not run again', async () => {
    const first = await startProcess();
    const { id } = await first.start({
      agent: BUYER,
      plan: [
        toolNode('free', 'oa__log'),
        toolNode('pay', 'oa__pay', PAYMENT, { onRejected: 'skip' }),
        toolNode('after', 'oa__log', {}, { dependsOn: ['pay'] }),
        toolNode('other', 'oa__log', { of: { $from: 'free', path: '/logged' } }),
      ],
    });
    const [request] = await first.asked(id);
    await until(() => tools.callsTo('/log').length === 2);
    await stopInOrder(first);
    const second = await startProcess();
    if (request) await second.decide(request.id, 'reject');
    const run = await second.finished(id);
    expect(run.status).toBe('succeeded');
    expect(run.invocations.map(({ node, status }) => `${node} ${status}`)).toEqual([
      'free succeeded',
      'pay skipped',
      'after skipped',
      'other succeeded',
    ]);
    expect(tools.callsTo('/log').length).toBe(2);
  });

  it('is cancelled from another process', async () => {
    model.script('buyer', [{ calls: [PAY] }, { text: 'never said' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    const second = await startProcess();
    await second.engine.runs.cancel(id);
    expect(await second.finished(id)).toMatchObject({ status: 'cancelled' });
    expect(request && (await second.confirmations.get(request.id))?.status).toBe('cancelled');
  });

  it('fails in words, after five faults, and asks nobody any more', async () => {
    model.script('buyer', [{ calls: [PAY] }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const [request] = await first.asked(id);
    await stopInOrder(first);
    await database.connection.execute(
      sql`update runs set faults = 4, plan = '[{"id":"x","kind":"nonsense"}]', executor = 'dag' where id = ${id}`,
    );
    const second = await startProcess();
    const run = await second.finished(id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(run.invocations).toMatchObject([{ status: 'blocked', error: { code: 'cancelled' } }]);
    expect(request && (await second.confirmations.get(request.id))?.status).toBe('cancelled');
  });

  describe('the store', () => {
    const facts = (id: RunId) => ({
      id,
      organization: 'acme',
      agent: BUYER,
      executor: 'react' as const,
      input: 'x',
      plan: null,
      session: id,
      requester: null,
      requesterNamedByAgent: false,
      evaluation: false,
      hooks: null,
      apiKeyId: null,
      parent: null,
      depth: 0,
    });

    const said = (content: string) =>
      [
        [{ role: 'assistant' as const, content, toolCalls: [], tokens: 0 }],
        { turn: 1, text: content, first: true },
      ] as const;

    async function created(runs: RunStore, id: RunId, owner: string): Promise<RunLease> {
      const creation = await runs.create(facts(id), owner);
      if (creation.kind !== 'created') throw new Error('the run is not new');
      return creation.lease;
    }

    it('lets only the newest holder of a run write', async () => {
      const id = newRunId();
      const lease = await created(store(), id, 'one');
      const stale = store().record(lease);
      await stale.appendMessages(...said('mine'));
      const [taken, ...others] = (
        await store().takeOver({ owner: 'two', limit: 100, lapsed: true, working: [] })
      ).filter(({ run }) => run === id);
      expect(others).toEqual([]);
      expect(taken?.fencingToken).toBe(2);
      await expect(stale.appendMessages(...said('mine too'))).rejects.toThrow(LeaseLost);
      await expect(stale.finish({ status: 'failed', output: null, error: null })).rejects.toThrow(LeaseLost);
      if (taken) await store().record(taken).finish({ status: 'cancelled', output: null, error: null });
      expect((await store().eventsAfter(id, 0, 10)).map(({ kind }) => kind)).toEqual([
        'run.started',
        'model.delta',
        'run.finished',
      ]);
    });

    it('keeps messages once, also where the answer that they are kept was lost', async () => {
      const id = newRunId();
      const lease = await created(store(), id, 'one');
      const [record, unheard] = [store().record(lease), store().record(lease)];
      for (const one of [record, unheard]) await one.load();
      await unheard.appendMessages(...said('one'));
      await record.appendMessages(...said('one'));
      await record.appendMessages(...said('two'));
      expect((await record.load()).messages.map(({ content }) => content)).toEqual(['one', 'two']);
      const events = await store().eventsAfter(id, 0, 10);
      expect(events.map(({ seq, data }) => [seq, data.text])).toEqual([
        [1, undefined],
        [2, 'one'],
        [3, 'two'],
      ]);
      await record.finish({ status: 'cancelled', output: null, error: null });
    });

    it('starts no delegate for a run that is over or to be stopped', async () => {
      const [over, stopped] = [newRunId(), newRunId()];
      const lease = await created(store(), over, 'one');
      await store().record(lease).finish({ status: 'failed', output: null, error: null });
      const stopping = await created(store(), stopped, 'one');
      await store().requestCancel(stopped);
      for (const run of [over, stopped]) {
        const child = { ...facts(newRunId()), parent: { run, invocation: newInvocationId() }, depth: 1 };
        expect(await store().create(child, 'one')).toEqual({ kind: 'unwanted' });
      }
      await store().record(stopping).finish({ status: 'cancelled', output: null, error: null });
    });

    it('gives a process its own run again where the answer that made it its own was lost', async () => {
      const [lost, known, fresh] = [newRunId(), newRunId(), newRunId()];
      for (const id of [lost, known, fresh]) await store().create(facts(id), 'forgetful');
      await store().heartbeat({ owner: 'forgetful', leaseMs: 60_000 });
      await database.connection.execute(
        sql`update runs set created_at = created_at - interval '1 minute' where id in (${lost}, ${known})`,
      );
      const taken = await store().takeOver({
        owner: 'forgetful',
        limit: 100,
        lapsed: true,
        working: [known],
      });
      expect(taken.map(({ run }) => run)).toEqual([lost]);
      await database.connection.execute(
        sql`update runs set status = 'cancelled', finished_at = now() where id in (${lost}, ${known}, ${fresh})`,
      );
    });

    it('leaves the runs of a lease that only lapsed to whoever may say that its process is dead', async () => {
      const id = newRunId();
      await created(store(), id, 'cut off');
      await store().heartbeat({ owner: 'cut off', leaseMs: 0 });
      const takeOver = async (lapsed: boolean) =>
        (await store().takeOver({ owner: 'two', limit: 100, lapsed, working: [] })).map(({ run }) => run);
      expect(await takeOver(false)).not.toContain(id);
      expect(await takeOver(true)).toContain(id);
      await database.connection.execute(
        sql`update runs set status = 'cancelled', finished_at = now() where id = ${id}`,
      );
    });

    it('keeps a change whose notification is lost', async () => {
      const notify = () => Promise.reject(new Error('the listener is away'));
      const deaf = createRunStore({
        database: { ...database, notifier: { ...database.notifier, notify } },
        clock: systemClock,
      });
      const id = newRunId();
      const lease = await created(deaf, id, 'one');
      await deaf.record(lease).appendMessages(...said('mine'));
      expect(await deaf.requestCancel(id)).toBe(true);
      await deaf.record(lease).finish({ status: 'cancelled', output: null, error: null });
    });

    it('hands each abandoned run to one taker, and none that a living process works on', async () => {
      const ids = Array.from({ length: 20 }, newRunId);
      for (const id of ids) await store().create(facts(id), 'dead');
      await store().heartbeat({ owner: 'alive', leaseMs: 60_000 });
      const kept = newRunId();
      await store().create(facts(kept), 'alive');
      const takers = await Promise.all(
        ['a', 'b', 'c', 'd'].map(async (owner) => {
          await store().heartbeat({ owner, leaseMs: 60_000 });
          return store().takeOver({ owner, limit: 100, lapsed: true, working: [] });
        }),
      );
      const taken = takers.flat().map(({ run }) => run);
      expect(taken.length).toBe(new Set(taken).size);
      expect(ids.every((id) => taken.includes(id))).toBe(true);
      expect(taken).not.toContain(kept);
      for (const lease of takers.flat()) {
        await store().record(lease).finish({ status: 'cancelled', output: null, error: null });
      }
      await database.connection.execute(
        sql`update runs set status = 'cancelled', finished_at = now() where id = ${kept}`,
      );
    });
  });
});
