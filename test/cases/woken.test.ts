import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfirmationId } from '../../src/ids.ts';
import { toolNode } from '../agent/engine-fixture.ts';
import { until } from '../support/until.ts';
import {
  askedAbout,
  BUYER,
  type CaseRig,
  EXECUTORS,
  mute,
  onlyRequest,
  PAYMENT,
  pay,
  script,
  startRig,
  vote,
} from './case-rig.ts';

describe('a decision that nobody is told about', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({ wrap: mute });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
  });

  it.each(EXECUTORS)(
    '043: is found by the poll, the vote is taken, and the call runs once ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [pay()]);
      const request = await onlyRequest(rig.engine, id);
      expect(await vote(rig.engine, request, 'approve')).toMatchObject({ kind: 'recorded', closed: true });
      expect(await vote(rig.engine, request, 'approve')).toMatchObject({ kind: 'repeated' });
      const run = await rig.engine.finished(id);
      expect(run).toMatchObject({ status: 'succeeded', invocations: [{ status: 'succeeded' }] });
      expect(rig.payments.calls.length).toBe(1);
      const kinds = (await rig.engine.recorded(id))
        .map(({ kind }) => kind)
        .filter((kind) => /^(run|tool|call)/.test(kind));
      expect(kinds).toEqual(['run.started', 'tool.executed', 'run.finished']);
      // No step of the run was taken for a fault of the service.
      expect((await rig.engine.events(id)).filter(({ kind }) => kind === 'tool.finished').length).toBe(1);
    },
  );

  it('a run that is cancelled without a word is stopped all the same', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([pay()]) });
    const request = await onlyRequest(rig.engine, id);
    const elsewhere = await rig.another();
    await elsewhere.engine.runs.cancel(id);
    await until(async () => (await rig.engine.engine.runs.get(id))?.status === 'cancelled');
    expect((await rig.engine.confirmations.get(request.id))?.status).toBe('cancelled');
    expect(rig.payments.calls).toEqual([]);
  });
});

describe('a decision wakes whoever waits for it', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
  });

  it('047: two that arrive together complete a plan that joins them', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      plan: [
        toolNode('a', 'oa__pay', { ...PAYMENT, amount: '1.00' }),
        toolNode('b', 'oa__pay', { ...PAYMENT, amount: '2.00' }),
        toolNode('join', 'oa__log', {}, { dependsOn: ['a', 'b'] }),
      ],
    });
    const requests = await Promise.all([
      askedAbout(rig.engine, id, '1.00'),
      askedAbout(rig.engine, id, '2.00'),
    ]);
    await Promise.all(requests.map((request) => vote(rig.engine, request, 'approve')));
    expect((await rig.engine.finished(id)).status).toBe('succeeded');
    expect(rig.payments.calls.map(({ path }) => path).sort()).toEqual(['/log', '/payments', '/payments']);
  });

  it('047: two of one turn that are decided together go back to the model together', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([pay('1.00'), pay('2.00')]) });
    const requests = await Promise.all([
      askedAbout(rig.engine, id, '1.00'),
      askedAbout(rig.engine, id, '2.00'),
    ]);
    await Promise.all(requests.map((request) => vote(rig.engine, request, 'approve')));
    expect(await rig.engine.finished(id)).toMatchObject({
      status: 'succeeded',
      invocations: [{ status: 'succeeded' }, { status: 'succeeded' }],
    });
    expect(rig.payments.callsTo('/payments').length).toBe(2);
  });

  it.each(EXECUTORS)(
    '044: a run that cannot be taken up again fails in words, and its unused approval is void ($executor)',
    async ({ start }) => {
      const first = await rig.another();
      const { id } = await start(first, [pay()]);
      const request = await onlyRequest(first, id);
      // Whoever takes it up next meets its fifth fault, before the vote or after it.
      await rig.database.connection.execute(
        sql`update runs set faults = 4, executor = 'dag', plan = '[{"id":"x","kind":"nonsense"}]' where id = ${id}`,
      );
      await first.stop();
      await vote(rig.engine, request, 'approve');
      expect(await rig.engine.finished(id)).toMatchObject({
        status: 'failed',
        error: { code: 'interrupted', message: expect.stringMatching(/fault/) },
      });
      await until(async () => {
        const then = await rig.engine.confirmations.get(request.id);
        return then?.status === 'approved'
          ? then.execution.status === 'revoked'
          : then?.status === 'cancelled';
      });
      expect(rig.payments.calls).toEqual([]);
    },
  );

  it.each(EXECUTORS)('049: one made before the run has begun to wait ($executor)', async ({ start }) => {
    const stop = rig.database.notifier.subscribe('confirmation', (id) => {
      void vote(rig.engine, { id: id as ConfirmationId }, 'approve');
    });
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, number) => start(rig.engine, [pay(`${number}.00`)])),
    );
    for (const { id } of runs)
      expect((await rig.engine.finished(id)).invocations).toMatchObject([{ status: 'succeeded' }]);
    stop();
    expect(rig.payments.calls.length).toBe(10);
  });

  it.each(EXECUTORS)('164: one made while no listener is connected ($executor)', async ({ start }) => {
    const { id } = await start(rig.engine, [pay()]);
    const request = await onlyRequest(rig.engine, id);
    await rig.database.connection.execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'countersign-listen' and datname = current_database()`);
    await vote(rig.engine, request, 'approve');
    expect((await rig.engine.finished(id)).invocations).toMatchObject([{ status: 'succeeded' }]);
    expect(rig.payments.calls.length).toBe(1);
  });

  it.each(EXECUTORS)('050: one made while no process was there ($executor)', async ({ start }) => {
    const first = await rig.another();
    const { id } = await start(first, [pay()]);
    const request = await onlyRequest(first, id);
    await first.stop();
    await vote(rig.engine, request, 'approve');
    expect((await rig.engine.finished(id)).invocations).toMatchObject([{ status: 'succeeded' }]);
    expect(rig.payments.calls.length).toBe(1);
  });

  it('053: three levels one after the other, decided through either of two processes, are three requests', async () => {
    const second = await rig.another();
    const amounts = ['1.00', '2.00', '3.00'];
    const plan = amounts.map((amount, place) =>
      toolNode(
        `n${place}`,
        'oa__pay',
        { ...PAYMENT, amount },
        { dependsOn: place === 0 ? [] : [`n${place - 1}`] },
      ),
    );
    const started = [
      await rig.engine.start({ agent: BUYER, plan }),
      await rig.engine.start({ agent: BUYER, input: script(...amounts.map((amount) => [pay(amount)])) }),
    ];
    for (const { id } of started) {
      for (const [place, amount] of amounts.entries()) {
        const request = await askedAbout(rig.engine, id, amount);
        await vote(place % 2 === 0 ? second : rig.engine, request, 'approve');
      }
      expect((await second.finished(id)).status).toBe('succeeded');
      const asked = (await rig.engine.recorded(id)).filter(({ kind }) => kind === 'confirmation.requested');
      expect(asked.length).toBe(3);
    }
    expect(rig.payments.calls.map(({ body }) => body.amount)).toEqual([...amounts, ...amounts]);
  });
});
