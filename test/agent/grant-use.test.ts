import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { Database } from '../../src/db/database.ts';
import { FreezeStore } from '../../src/db/freeze-store.ts';
import { agentId, type ConfirmationId, personId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { failFirstWrites } from '../support/momentary-fault.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { ModelServer, toolResult } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const PAY = { id: 'p', name: 'oa__pay', arguments: { payee: 'Acme Ltd', amount: '10.00' } };

const LI = { id: personId('li.wei'), name: '李伟' };
const ZHAO = { id: personId('zhao.min'), name: '赵敏' };

describe('between the approval and the tool', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let standstillMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + standstillMs };
  let database: Database;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await openPostgres();
    engine = await startEngine({
      database,
      clock,
      config: sampleConfig({
        modelUrl: await model.start(),
        toolUrl: await tools.start(),
        agents: [agent('buyer')],
      }),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(async () => {
    tools.calls.length = 0;
    model.requests.length = 0;
    model.script('buyer', [{ calls: [PAY] }, { text: 'I see.' }]);
    engine.afterClaim = null;
    engine.claimFault = null;
    const freezes = new FreezeStore(database);
    for (const { id } of await freezes.active())
      for (const by of [LI, ZHAO]) await freezes.end({ id, by, mayStill: () => true });
  });

  async function approve(beforeDecision: (id: string) => Promise<unknown> = async () => {}) {
    const { id } = await engine.start({ agent: agentId('buyer') });
    const [request] = await engine.asked(id);
    if (!request) throw new Error('nobody was asked');
    await beforeDecision(request.id);
    await engine.decide(request.id, 'approve');
    const run = await engine.finished(id);
    const after = await engine.confirmations.get(request.id);
    return { invocation: run.invocations[0], told: toolResult(model.requests[1]), after };
  }

  it('a worker that stood still past its time to send does not send, and says so', async () => {
    engine.afterClaim = () => {
      standstillMs += 10_500;
    };
    const { invocation, told, after } = await approve();
    expect(tools.calls).toEqual([]);
    expect(invocation).toMatchObject({ status: 'blocked', error: { code: 'lapsed' } });
    expect(told).toMatchObject({ code: 'lapsed', executed: false });
    expect(after).toMatchObject({ execution: { status: 'failed', detail: 'not sent' } });
  });

  it('a short standstill is no harm', async () => {
    engine.afterClaim = () => {
      standstillMs += 5_000;
    };
    expect((await approve()).invocation).toMatchObject({ status: 'succeeded' });
    expect(tools.calls.length).toBe(1);
  });

  it.each([
    ['in time, and sends once', 0],
    ['too late, and gives the grant back unsent', 10_500],
  ])('a claim whose answer is lost is found again %s', async (_what, lateMs) => {
    engine.afterClaim = () => {
      engine.afterClaim = null;
      standstillMs += lateMs;
      throw new Error('the connection broke');
    };
    const { invocation, after } = await approve();
    expect(invocation).toMatchObject({ status: lateMs === 0 ? 'succeeded' : 'blocked' });
    expect(tools.calls.length).toBe(lateMs === 0 ? 1 : 0);
    expect(after).toMatchObject({ execution: { status: lateMs === 0 ? 'succeeded' : 'failed' } });
    const claims = await database.connection.execute(
      sql`select count(*)::integer as count from audit_events where kind = 'grant.claimed' and confirmation_id = ${after?.id}`,
    );
    expect(claims).toMatchObject({ rows: [{ count: 1 }] });
  });

  it('a claim that another worker made is not taken for one whose answer was lost', async () => {
    let stolen: Promise<unknown> | null = null;
    let isDone = false;
    const { invocation } = await approve(async (request) => {
      const id = request as ConfirmationId;
      const { runId } = (await engine.confirmations.get(id)) ?? {};
      if (runId == null) throw new Error('no run asks');
      const actor = { type: 'run', run: runId, agent: agentId('buyer') } as const;
      const steal = async () => {
        await engine.confirmations.claim({ id, actor, args: PAY.arguments, claimant: 'another' });
        await engine.confirmations.recordOutcome({ id, actor, status: 'succeeded', detail: null });
        isDone = true;
      };
      engine.claimFault = () => {
        stolen ??= steal();
        if (!isDone) throw new Error('the connection broke');
      };
    });
    await stolen;
    expect(invocation).toMatchObject({ status: 'succeeded' });
    expect(tools.calls).toEqual([]);
  });

  it('a momentary fault of the database uses up no approval: claim and note are tried again', async () => {
    let faults = 1;
    engine.claimFault = () => {
      if (faults-- > 0) throw new Error('the connection broke');
    };
    const endFaults = await failFirstWrites(database, { condition: "new.phase = 'executing'", times: 1 });
    const { invocation } = await approve();
    await endFaults();
    expect(invocation).toMatchObject({ status: 'succeeded' });
    expect(tools.calls.length).toBe(1);
  });

  it('a call that was frozen meanwhile does not run', async () => {
    const freezes = new FreezeStore(database);
    const { told, after } = await approve(() => freezes.start({ tools: ['oa__*'], reason: 'x', by: LI }));
    expect(tools.calls).toEqual([]);
    expect(told).toMatchObject({ code: 'revoked', executed: false });
    expect(after).toMatchObject({ execution: { status: 'revoked', detail: 'frozen' } });
  });

  it('a frozen call that needs no approval does not run either, and the model is told so', async () => {
    const freezes = new FreezeStore(database);
    await freezes.start({ tools: ['oa__pay_freely'], reason: 'x', by: LI });
    model.script('buyer', [{ calls: [{ ...PAY, name: 'oa__pay_freely' }] }, { text: 'I see.' }]);
    const { id } = await engine.start({ agent: agentId('buyer') });
    const run = await engine.finished(id);
    expect(tools.calls).toEqual([]);
    expect(run.invocations[0]).toMatchObject({ status: 'blocked', error: { code: 'frozen' } });
    expect(toolResult(model.requests[1])).toMatchObject({
      code: 'frozen',
      executed: false,
      retryable: false,
    });
  });

  describe('while it cools off', () => {
    const cool = async (milliseconds: number) => {
      const { id } = await engine.start({ agent: agentId('buyer') });
      const [request] = await engine.asked(id);
      if (!request) throw new Error('nobody was asked');
      const policy = JSON.stringify({ coolOffMs: milliseconds });
      await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
      await database.connection.execute(
        sql`update confirmations set policy = policy || ${policy}::jsonb where id = ${request.id}`,
      );
      await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
      await engine.decide(request.id, 'approve');
      return { run: id, request: request.id };
    };

    it('a run waits, and sends once it is over', async () => {
      const { run, request } = await cool(700);
      const ended = await engine.finished(run);
      expect(ended.invocations[0]).toMatchObject({ status: 'succeeded' });
      const after = await engine.confirmations.get(request);
      if (after?.status !== 'approved') throw new Error('not approved');
      expect(after.execution).toMatchObject({ status: 'succeeded' });
      const [claim] = await database.connection
        .execute(sql`select claimed_at - decided_at >= interval '700 ms' as
        waited from confirmations where id = ${request}`)
        .then((result) => (result as { rows: object[] }).rows);
      expect(claim).toEqual({ waited: true });
      expect(tools.calls.length).toBe(1);
    });

    it('a revocation reaches the run at once, with the reason, and nothing runs', async () => {
      const { run, request } = await cool(600_000);
      const revoke = {
        id: request,
        person: LI.id,
        reason: 'wrong account',
        surface: { kind: 'api' },
      } as const;
      expect(await engine.confirmations.revoke(revoke)).toMatchObject({ kind: 'revoked' });
      const ended = await engine.finished(run);
      expect(ended.invocations[0]).toMatchObject({ status: 'blocked', error: { code: 'revoked' } });
      expect(toolResult(model.requests[1])).toMatchObject({
        code: 'revoked',
        reason: 'wrong account',
        executed: false,
      });
      expect(tools.calls).toEqual([]);
    });

    it('a cancelled run withdraws its grant and ends', async () => {
      const { run, request } = await cool(600_000);
      await engine.engine.runs.cancel(run);
      await until(async () => {
        const after = await engine.confirmations.get(request);
        return after?.status === 'approved' && after.execution.status === 'revoked';
      });
      expect(await engine.finished(run)).toMatchObject({ status: 'cancelled' });
      expect(tools.calls).toEqual([]);
    });
  });

  it('a call that went read-only meanwhile does not run', async () => {
    const { told, after } = await approve(() =>
      database.connection.execute(sql`update gate_controls set read_only_organization = true`),
    );
    expect(tools.calls).toEqual([]);
    expect(told).toMatchObject({ code: 'revoked', executed: false });
    expect(after).toMatchObject({ execution: { status: 'revoked', detail: 'read_only' } });
  });
});
