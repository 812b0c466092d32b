import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Config } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { PreToolUseHook } from '../../src/hook/hook.ts';
import type { HookContext } from '../../src/hook/hook-context.ts';
import type { AnyHookKind } from '../../src/hook/hook-kind.ts';
import { agentId, type ConfirmationId, personId, type RunId } from '../../src/ids.ts';
import { BUYER, EXECUTORS, pay, playInput, script, vote } from '../cases/case-rig.ts';
import { DATABASES } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { agentNode, type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { ModelServer } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const SLOWLY = { tool: 'oa__pay_slowly', args: { payee: 'Acme Ltd', amount: '5.00' } };

describe.each(DATABASES)('a run that only waits, on $name', ({ name, open }) => {
  const model = new ModelServer();
  const tools = new ToolServer();
  /** How often the hook before the gate ran. */
  let hooksRun = 0;
  let config: Config;
  let database: Database;
  let engine: EngineFixture;

  beforeAll(async () => {
    const agents = [
      agent('buyer', { delegates: [agentId('clerk')], hooks: [{ name: 'count', options: {} }] }),
      agent('clerk'),
    ];
    const sample = sampleConfig({ modelUrl: await model.start(), toolUrl: await tools.start(), agents });
    const rule = sample.policies[0];
    if (rule === undefined) throw new Error('the sample has no policy');
    const cooling = {
      ...rule,
      id: 'cooling',
      tools: ['oa__pay_slowly'],
      decideWithinMs: 60_000,
      coolOffMs: 60_000,
    };
    config = { ...sample, policies: [...sample.policies, cooling], parkAfterMs: 30 };
    for (const { id } of agents) model.follow(id, playInput);
    database = await open();
    engine = await begin();
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
    model.requests.length = 0;
    hooksRun = 0;
  });

  const begin = () =>
    startEngine({
      database,
      config,
      hookKinds: [countingHook(() => (hooksRun += 1))],
      exclusive: name !== 'PostgreSQL',
    });
  const isParked = async (id: RunId) => {
    const [row] = await rowsOf<{ parked: boolean }>(
      database.connection,
      sql`select parked_at is not null and lease_owner is null as parked from runs where id = ${id}`,
    );
    return row?.parked === true;
  };
  const parked = (id: RunId) => until(() => isParked(id), { what: 'parked' });
  const only = async (id: RunId): Promise<ConfirmationId> => {
    const [request, ...others] = await engine.asked(id);
    if (!request || others.length > 0) throw new Error('not one request');
    return request.id;
  };

  it('has overcome the faults that it met before it waited again', async () => {
    const { id } = await engine.start({
      agent: BUYER,
      plan: [
        toolNode('a', 'oa__pay', { payee: 'Acme Ltd', amount: '1.00' }),
        toolNode('b', 'oa__pay', { payee: 'Acme Ltd', amount: '2.00' }, { dependsOn: ['a'] }),
      ],
    });
    await parked(id);
    await database.connection.execute(sql`update runs set faults = 4 where id = ${id}`);
    const first = await only(id);
    await engine.decide(first, 'approve');
    await until(async () => (await isParked(id)) && (await only(id)) !== first);
    const [run] = await rowsOf<{ faults: number }>(
      database.connection,
      sql`select faults from runs where id = ${id}`,
    );
    expect(run).toEqual({ faults: 0 });
    await engine.engine.runs.cancel(id);
  });

  describe.each(EXECUTORS)('through $executor', ({ executor, start }) => {
    it('is parked: it reads waiting, and nothing of it is left in the process', async () => {
      const { id } = await start(engine, [pay('1.00', 'acme')]);
      const request = await only(id);
      await parked(id);
      await until(() => engine.engine.activeRuns() === 0 && engine.waits() === 0);
      expect(await engine.engine.runs.get(id)).toMatchObject({
        status: 'waiting',
        invocations: [{ status: 'waiting', confirmation: request }],
      });

      await engine.decide(request, 'approve');
      const run = await engine.finished(id);
      expect(run).toMatchObject({ status: 'succeeded', invocations: [{ status: 'succeeded' }] });
      // What was approved, with what the hooks had made of it before: they do not run again, nor is the model asked.
      expect(tools.calls.map(({ body }) => body)).toEqual([{ payee: 'Acme Ltd', amount: '1.00' }]);
      expect(hooksRun).toBe(1);
      expect(model.requests.length).toBe(executor === 'ReAct' ? 2 : 0);
      const events = await engine.events(id);
      const finished = events.filter(({ kind }) => kind === 'tool.finished');
      expect(finished.map(({ data }) => data.sideEffects)).toEqual([
        [{ hook: 'count', text: 'spelt the payee out' }],
      ]);
      for (const kind of ['run.waiting', 'confirmation.decided', 'tool.finished', 'run.finished'])
        expect(events.filter((event) => event.kind === kind).length, kind).toBe(1);
    });

    it('is woken by a rejection, and the reason is told', async () => {
      const { id } = await start(engine, [pay()]);
      await parked(id);
      await engine.decide(await only(id), 'reject', 'too dear');
      const run = await engine.finished(id);
      expect(run.invocations).toMatchObject([{ status: 'blocked', error: { code: 'rejected' } }]);
      expect(tools.calls).toEqual([]);
    });

    it('is woken by its request being withdrawn, and by its deadline', async () => {
      const withdrawn = await start(engine, [pay()]);
      const expiring = await start(engine, [{ tool: 'oa__pay_hasty', args: { payee: 'a', amount: '1' } }]);
      await parked(withdrawn.id);
      const actor = { type: 'person', person: { id: personId('zhao.min'), name: '赵敏' } } as const;
      await engine.confirmations.cancel({ id: await only(withdrawn.id), actor, reason: 'not needed' });
      expect((await engine.finished(withdrawn.id)).invocations).toMatchObject([
        { error: { code: 'cancelled' } },
      ]);
      expect((await engine.finished(expiring.id)).invocations).toMatchObject([
        { error: { code: 'expired' } },
      ]);
    });

    it('is woken to be cancelled: its request is withdrawn', async () => {
      const { id } = await start(engine, [pay()]);
      await parked(id);
      const request = await only(id);
      expect(await engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled' });
      expect((await engine.confirmations.get(request))?.status).toBe('cancelled');
    });

    it('runs what is decided at once, and is parked again for the rest', async () => {
      const { id } = await start(engine, [pay('1.00'), pay('2.00'), { tool: 'oa__weather' }]);
      const asked = await engine.asked(id, 2);
      await parked(id);
      const [first, second] = ['1.00', '2.00'].map((amount) =>
        asked.find(({ args }) => args.amount === amount),
      );
      if (!first || !second) throw new Error('not both were asked about');
      await engine.decide(second.id, 'approve');
      await until(() => tools.callsTo('/payments').length === 1);
      await parked(id);
      await engine.decide(first.id, 'reject');
      const run = await engine.finished(id);
      expect(run.invocations.map(({ status }) => status)).toEqual(['blocked', 'succeeded', 'succeeded']);
      expect(tools.calls.map(({ path }) => path).sort()).toEqual(['/payments', '/weather']);
      expect(hooksRun).toBe(3);
    });

    it('is parked through a cool-off, and woken when it is over or the grant is taken back', async () => {
      const [cooled, revoked] = [await start(engine, [SLOWLY]), await start(engine, [SLOWLY])];
      for (const { id } of [cooled, revoked]) {
        await parked(id);
        await engine.decide(await only(id), 'approve');
        await until(async () => (await noted(database, id)) && isParked(id), { what: 'parked again' });
        expect(await engine.engine.runs.get(id)).toMatchObject({ status: 'waiting' });
      }
      await engine.confirmations.revoke({
        id: await only(revoked.id),
        person: personId('li.wei'),
        reason: 'wrong account',
        surface: { kind: 'api' },
      });
      expect((await engine.finished(revoked.id)).invocations).toMatchObject([{ error: { code: 'revoked' } }]);
      expect(tools.calls).toEqual([]);
      await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
      await database.connection.execute(
        sql`update confirmations set executable_from = clock_timestamp() where run_id = ${cooled.id}`,
      );
      await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
      expect((await engine.finished(cooled.id)).invocations).toMatchObject([{ status: 'succeeded' }]);
      expect(tools.calls.length).toBe(1);
    });
  });

  it('is parked with its delegate, whose end wakes it', async () => {
    for (const through of ['call', 'node'] as const) {
      tools.calls.length = 0;
      const call = { agent: 'clerk', input: script([pay()]) };
      const { id } = await engine.start(
        through === 'call'
          ? { agent: BUYER, input: script([{ tool: 'call_agent', args: call }]) }
          : { agent: BUYER, plan: [agentNode('ask', 'clerk', [], call.input)] },
      );
      await parked(id);
      const child = (await engine.engine.runs.get(id))?.childRuns[0];
      if (!child) throw new Error('there is no child run');
      await parked(child);
      expect(await engine.engine.runs.get(id)).toMatchObject({ status: 'waiting' });
      await until(() => engine.engine.activeRuns() === 0);
      await engine.decide(await only(child), 'approve');
      expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', childRuns: [child] });
      expect(tools.calls.length).toBe(1);
    }
  });

  it('stops its delegate when it is cancelled', async () => {
    const call = { agent: 'clerk', input: script([pay()]) };
    const { id } = await engine.start({ agent: BUYER, input: script([{ tool: 'call_agent', args: call }]) });
    await parked(id);
    const child = (await engine.engine.runs.get(id))?.childRuns[0];
    if (!child) throw new Error('there is no child run');
    await parked(child);
    const request = await only(child);
    expect(await engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled' });
    expect(await engine.finished(child)).toMatchObject({ status: 'cancelled' });
    expect((await engine.confirmations.get(request))?.status).toBe('cancelled');
  });

  it('is parked while nobody knows an outcome, and woken by the settlement', async () => {
    const { id } = await engine.start({
      agent: BUYER,
      plan: [
        toolNode('pay', 'oa__pay_broken', pay().args),
        toolNode('after', 'oa__log', {}, { dependsOn: ['pay'] }),
      ],
    });
    const request = await only(id);
    await engine.decide(request, 'approve');
    await until(() => tools.callsTo('/broken').length === 1);
    await parked(id);
    expect(await engine.engine.runs.get(id)).toMatchObject({
      status: 'waiting',
      invocations: [{ status: 'unknown' }],
    });
    await endOldAttempt(database, request);
    const settled = await engine.confirmations.settle({
      id: request,
      person: personId('li.wei'),
      status: 'succeeded',
      detail: 'seen on the statement',
      surface: { kind: 'api' },
    });
    expect(settled.kind).toBe('settled');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(tools.calls.map(({ path }) => path)).toEqual(['/broken', '/log']);
    // What came after the settlement was no waiting.
    const rows = await rowsOf(database.connection, sql`select 1 from runs where id = ${id} and not holding`);
    expect(rows.length).toBe(1);
  });

  it('is parked while people are asked to run a call again, and goes on with what that brought', async () => {
    const { id } = await engine.start({
      agent: BUYER,
      plan: [
        toolNode('pay', 'oa__pay_again', pay().args),
        toolNode('after', 'oa__log', { said: { $from: 'pay', path: '/payment' } }),
      ],
    });
    const first = await only(id);
    await engine.decide(first, 'approve');
    await until(() => tools.callsTo('/flaky').length === 1);
    await parked(id);
    const runAgain = async () => {
      await endOldAttempt(database, first);
      const settled = await engine.confirmations.settle({
        id: first,
        person: personId('li.wei'),
        status: 'run_again',
        detail: 'nothing at the bank',
        surface: { kind: 'api' },
      });
      const again = settled.kind === 'settled' ? settled.request.supersededBy : null;
      if (again === null) throw new Error(`not asked again: ${settled.kind}`);
      return again;
    };
    // A no wakes it, and it parks again: the outcome is as unknown as before.
    await vote(engine, { id: await runAgain() }, 'reject');
    await parked(id);
    await vote(engine, { id: await runAgain() }, 'approve');
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(tools.callsTo('/flaky').length).toBe(2);
    expect(tools.callsTo('/log').map(({ body }) => body)).toEqual([{ said: 'P-2' }]);
  });

  it('stays parked over a restart of the process, and is taken up where it was decided meanwhile', async () => {
    const [waiting, decided] = [
      await engine.start({ agent: BUYER, input: script([pay('1.00')]) }),
      await engine.start({ agent: BUYER, input: script([pay('2.00')]) }),
    ];
    await parked(waiting.id);
    await parked(decided.id);
    const requests = { waiting: await only(waiting.id), decided: await only(decided.id) };
    await engine.engine.stop();
    await vote(engine, { id: requests.decided }, 'approve');
    const next = await begin();
    expect(await next.finished(decided.id)).toMatchObject({ status: 'succeeded' });
    expect(await isParked(waiting.id)).toBe(true);
    expect(next.engine.activeRuns()).toBe(0);
    await next.decide(requests.waiting, 'approve');
    expect(await next.finished(waiting.id)).toMatchObject({ status: 'succeeded' });
    await next.stop();
    await engine.stop();
    engine = await begin();
    expect(tools.calls.length).toBe(2);
  });

  it('loses no decision that falls together with its parking', async () => {
    // The embedded database has one connection: there is little to fall together.
    const count = name === 'PostgreSQL' ? 25 : 8;
    const runs = await Promise.all(
      Array.from({ length: count }, () =>
        engine.start({ agent: BUYER, plan: [toolNode('pay', 'oa__pay', pay().args)] }),
      ),
    );
    await Promise.all(
      runs.map(async ({ id }, index) => {
        const request = await only(id);
        await new Promise((resolve) => setTimeout(resolve, 10 + index));
        await engine.decide(request, 'approve');
      }),
    );
    for (const { id } of runs) expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(tools.calls.length).toBe(count);
  }, 90_000);
});

/** Whether the run has noted a decision. */
const noted = async (database: Database, id: RunId): Promise<boolean> => {
  const rows = await rowsOf(
    database.connection,
    sql`select 1 from invocations where run_id = ${id} and decided_at is not null`,
  );
  return rows.length > 0;
};

const countingHook = (count: () => void): AnyHookKind => {
  class Count extends PreToolUseHook {
    readonly name = 'count';
    readonly onError = 'deny';
    async execute({ toolArgs }: HookContext) {
      count();
      if (toolArgs.payee !== 'acme') return { allow: true as const };
      return {
        allow: true as const,
        modifiedArgs: { ...toolArgs, payee: 'Acme Ltd' },
        sideEffects: ['spelt the payee out'],
      };
    }
  }
  return { name: 'count', options: z.strictObject({}), create: () => new Count() };
};
