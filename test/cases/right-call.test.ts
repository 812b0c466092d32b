import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../src/ids.ts';
import { toolNode } from '../agent/engine-fixture.ts';
import { askedAbout, BUYER, type CaseRig, EXECUTORS, pay, script, startRig, vote } from './case-rig.ts';

describe('a decision reaches the call it was made about', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({
      change: (config) => ({
        ...config,
        policies: [
          ...config.policies,
          {
            ...(config.policies[0] as (typeof config.policies)[number]),
            id: 'soon',
            tools: ['oa__pay_slowly'],
            decideWithinMs: 1_500,
          },
        ],
      }),
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
  });

  /** Up to 15 ms, another each time and the same in every run of the tests. */
  let seed = 19;
  const jitter = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 16;
  };
  const later = <T>(delayMs: number, act: () => Promise<T>) =>
    new Promise<void>((resolve) => setTimeout(resolve, delayMs)).then(act);
  const amountsPaid = () => rig.payments.callsTo('/payments').map(({ body }) => body.amount);
  /** The same sequence of calls, each after the one before has ended. */
  const SEQUENCES = [
    {
      executor: 'ReAct',
      start: (...calls: ReturnType<typeof pay>[]) =>
        rig.engine.start({ agent: BUYER, input: script(...calls.map((call) => [call])) }),
    },
    {
      executor: 'DAG',
      start: (...calls: ReturnType<typeof pay>[]) =>
        rig.engine.start({
          agent: BUYER,
          plan: calls.map(({ tool, args }, place) =>
            toolNode(`n${place}`, tool, args ?? {}, {
              onRejected: 'continue',
              dependsOn: place === 0 ? [] : [`n${place - 1}`],
            }),
          ),
        }),
    },
  ];

  it.each(EXECUTORS)(
    '019: of two calls side by side, decided a little apart, the approved one runs and the rejected one never does, 100 times ($executor)',
    async ({ start }) => {
      const round = async (number: number) => {
        const { id } = await start(rig.engine, [pay(`${number}.01`), pay(`${number}.02`)]);
        const asked = await rig.engine.asked(id, 2);
        const [yes, no] = ['01', '02'].map((cents) =>
          asked.find(({ args }) => args.amount === `${number}.${cents}`),
        );
        if (!yes || !no) throw new Error('not both were asked about');
        await Promise.all([
          later(jitter(), () => vote(rig.engine, yes, 'approve')),
          later(jitter(), () => vote(rig.engine, no, 'reject')),
        ]);
        const run = await rig.engine.finished(id);
        expect(run.invocations.map(({ args, status }) => [args.amount, status])).toEqual([
          [`${number}.01`, 'succeeded'],
          [`${number}.02`, 'blocked'],
        ]);
      };
      for (let number = 0; number < 100; number += 10)
        await Promise.all(Array.from({ length: 10 }, (_, index) => round(number + index)));
      expect(amountsPaid().sort()).toEqual(Array.from({ length: 100 }, (_, number) => `${number}.01`).sort());
    },
    60_000,
  );

  it.each(EXECUTORS)(
    '020, 133: each decision is about the request it names, in any order, and one too many changes none of the others ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [pay('1.00'), pay('2.00'), pay('3.00')]);
      const [small, middle, large] = await Promise.all(
        ['1.00', '2.00', '3.00'].map((amount) => askedAbout(rig.engine, id, amount)),
      );
      if (!small || !middle || !large) throw new Error('not all were asked about');
      await rig.engine.decide(middle.id, 'reject');
      // As somebody works down a list that is sorted by amount, the largest first, and was read a moment ago.
      const said = await Promise.all([
        vote(rig.engine, large, 'approve'),
        vote(rig.engine, middle, 'approve'),
        vote(rig.engine, small, 'reject'),
      ]);
      expect(said.map(({ kind }) => kind)).toEqual(['recorded', 'already-decided', 'recorded']);
      const run = await rig.engine.finished(id);
      expect(run.invocations.map(({ args, status }) => [args.amount, status])).toEqual([
        ['1.00', 'blocked'],
        ['2.00', 'blocked'],
        ['3.00', 'succeeded'],
      ]);
      expect(amountsPaid()).toEqual(['3.00']);
    },
  );

  it.each(SEQUENCES)(
    '022: an old card of a rejected request changes nothing about the new one ($executor)',
    async ({ start }) => {
      const { id } = await start(pay('10.00'), pay('9999.00'));
      const old = await askedAbout(rig.engine, id, '10.00');
      await rig.engine.decide(old.id, 'reject');
      const fresh = await askedAbout(rig.engine, id, '9999.00');
      expect(await vote(rig.engine, old, 'approve')).toMatchObject({
        kind: 'already-decided',
        request: { status: 'rejected' },
      });
      expect((await rig.engine.confirmations.get(fresh.id))?.status).toBe('pending');
      expect(rig.payments.calls).toEqual([]);
      await rig.engine.decide(fresh.id, 'reject');
      await rig.engine.finished(id);
      expect(rig.payments.calls).toEqual([]);
    },
  );

  it.each(EXECUTORS)(
    '023: the second of two is approved first and runs, the first goes on waiting ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [pay('1.00'), pay('2.00')]);
      const first = await askedAbout(rig.engine, id, '1.00');
      await rig.engine.decide((await askedAbout(rig.engine, id, '2.00')).id, 'approve');
      while (amountsPaid().length === 0) await rig.engine.engine.runs.get(id);
      expect(amountsPaid()).toEqual(['2.00']);
      expect((await rig.engine.confirmations.get(first.id))?.status).toBe('pending');
      expect((await rig.engine.engine.runs.get(id))?.status).toBe('waiting');
      await rig.engine.engine.runs.cancel(id);
      expect(amountsPaid()).toEqual(['2.00']);
    },
  );

  it.each(SEQUENCES)(
    '025: three in a row end as approved, rejected and expired, each its own ($executor)',
    async ({ start }) => {
      const last = { tool: 'oa__pay_slowly', args: { payee: 'Acme Ltd', amount: '3.00' } };
      const { id } = await start(pay('1.00'), pay('2.00'), last);
      await rig.engine.decide((await askedAbout(rig.engine, id, '1.00')).id, 'approve');
      await rig.engine.decide((await askedAbout(rig.engine, id, '2.00')).id, 'reject');
      const run = await rig.engine.finished(id);
      expect(run.invocations.map(({ status, error }) => error?.code ?? status)).toEqual([
        'succeeded',
        'rejected',
        'expired',
      ]);
      const statuses = await Promise.all(
        run.invocations.map(
          async ({ confirmation }) =>
            confirmation && (await rig.engine.confirmations.get(confirmation))?.status,
        ),
      );
      expect(statuses).toEqual(['approved', 'rejected', 'expired']);
      expect(amountsPaid()).toEqual(['1.00']);
    },
  );

  it.each(SEQUENCES)(
    '026, 145: an approval of one amount is none of another, whatever the provider calls the call ($executor)',
    async ({ start }) => {
      const { id } = await start(pay('1.00'), pay('10000.00'));
      await rig.engine.decide((await askedAbout(rig.engine, id, '1.00')).id, 'approve');
      const second = await askedAbout(rig.engine, id, '10000.00');
      expect(amountsPaid()).toEqual(['1.00']);
      await rig.engine.decide(second.id, 'reject');
      const { executor, invocations } = await rig.engine.finished(id);
      expect(amountsPaid()).toEqual(['1.00']);
      expect(invocations.map(({ callId }) => callId)).toEqual(
        Array(2).fill(executor === 'react' ? 'call_0' : null),
      );
      for (const ours of ['id', 'confirmation'] as const)
        expect(new Set(invocations.map((call) => call[ours])).size).toBe(2);
    },
  );

  it.each(SEQUENCES)(
    '145: exactly the approved call again is asked about again ($executor)',
    async ({ start }) => {
      const { id } = await start(pay('1.00'), pay('1.00'));
      const first = await askedAbout(rig.engine, id, '1.00');
      await rig.engine.decide(first.id, 'approve');
      const again = async (run: RunId) => {
        for (;;) {
          const found = (await rig.engine.asked(run)).find((request) => request.id !== first.id);
          if (found) return found;
        }
      };
      await rig.engine.decide((await again(id)).id, 'reject');
      await rig.engine.finished(id);
      expect(amountsPaid()).toEqual(['1.00']);
    },
  );
});
