import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rowsOf } from '../../src/db/rows-of.ts';
import { channelId, personId } from '../../src/ids.ts';
import type { EngineFixture } from '../agent/engine-fixture.ts';
import { until } from '../support/until.ts';
import { BUYER, type CaseRig, EXECUTORS, onlyRequest, pay, script, startRig, vote } from './case-rig.ts';

const SLACK = { kind: 'channel', id: channelId('pay-slack') } as const;

describe('at the same moment', () => {
  let rig: CaseRig;
  /** Another process, which works on none of the runs that are started here. */
  let other: EngineFixture;

  beforeAll(async () => {
    rig = await startRig({
      change: (config) => ({
        ...config,
        people: config.people.flatMap((person) =>
          person.id === 'zhao.min'
            ? [person, { ...person, id: personId('wang.fang'), name: '王芳' }]
            : [person],
        ),
      }),
    });
    other = await rig.another();
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    rig.model.requests.length = 0;
    rig.engine.gateFault = null;
    rig.engine.afterClaim = null;
  });

  const decisionsOf = async (id: Parameters<typeof rig.engine.recorded>[0]) =>
    (await rig.engine.recorded(id)).filter(({ kind }) => kind === 'confirmation.decided');

  it.each(EXECUTORS)(
    '038: approve in Slack and reject in the console, 50 times: one wins, the other is told, the call follows it ($executor)',
    async ({ start }) => {
      const round = async (number: number) => {
        const { id } = await start(rig.engine, [pay(`${number}.00`)]);
        const request = await onlyRequest(rig.engine, id);
        const verdicts =
          number % 2 === 0 ? (['approve', 'reject'] as const) : (['reject', 'approve'] as const);
        const outcomes = await Promise.all(
          verdicts.map((verdict) =>
            verdict === 'approve'
              ? vote(rig.engine, request, verdict, { surface: SLACK })
              : vote(other, request, verdict),
          ),
        );
        const won = outcomes.filter(({ kind }) => kind === 'recorded');
        const lost = outcomes.filter(({ kind }) => kind === 'already-decided');
        expect([won.length, lost.length]).toEqual([1, 1]);
        const run = await rig.engine.finished(id);
        const status = (await rig.engine.confirmations.get(request.id))?.status;
        expect(lost).toMatchObject([{ request: { status, decision: { by: { id: 'li.wei' } } } }]);
        expect(run.invocations[0]?.status).toBe(status === 'approved' ? 'succeeded' : 'blocked');
        expect((await decisionsOf(id)).length).toBe(1);
        return status === 'approved' ? 1 : 0;
      };
      let approved = 0;
      for (let number = 0; number < 50; number += 10) {
        const rounds = await Promise.all(Array.from({ length: 10 }, (_, index) => round(number + index)));
        approved += rounds.filter((one) => one === 1).length;
      }
      expect(rig.payments.calls.length).toBe(approved);
    },
    60_000,
  );

  it.each(EXECUTORS)(
    '151: cancel here or through another process, and approve, 50 times: what was paid reads paid, what was cancelled was not ($executor)',
    async ({ start }) => {
      const round = async (number: number) => {
        const amount = `${number}.00`;
        const { id } = await start(rig.engine, [pay(amount)]);
        const request = await onlyRequest(rig.engine, id);
        const { runs } = (number % 4 < 2 ? rig.engine : other).engine;
        const acts = [() => vote(rig.engine, request, 'approve'), () => runs.cancel(id)];
        await Promise.all((number % 2 === 0 ? acts : acts.reverse()).map((act) => act()));
        const run = await rig.engine.finished(id);
        const after = await rig.engine.confirmations.get(request.id);
        const paid = rig.payments.calls.filter(({ body }) => body.amount === amount).length;
        const invocation = run.invocations[0];
        expect(invocation?.status).toBe(paid === 1 ? 'succeeded' : 'blocked');
        expect((await decisionsOf(id)).length).toBe(1);
        if (after?.status === 'approved') {
          expect(['succeeded', 'revoked', 'failed']).toContain(after.execution.status);
          expect(after.execution.status === 'succeeded').toBe(paid === 1);
        } else {
          expect([after?.status, paid]).toEqual(['cancelled', 0]);
        }
        const ends = (await rig.engine.recorded(id)).filter(({ kind }) => /^(call|tool)\./.test(kind));
        expect(ends.map(({ kind }) => kind)).toEqual([paid === 1 ? 'tool.executed' : 'call.denied']);
      };
      for (let number = 0; number < 50; number += 10)
        await Promise.all(Array.from({ length: 10 }, (_, index) => round(number + index)));
      const late = sql`select 1 from invocations join runs on runs.id = run_id where executing_at > cancel_requested_at`;
      expect(await rowsOf(rig.database.connection, late)).toEqual([]);
    },
    60_000,
  );

  it.each(EXECUTORS)(
    '151: what was cancelled before the approval does not run, even where the process at work has not heard of it ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [pay('1.00'), pay('2.00')]);
      const [first] = await rig.engine.asked(id, 2);
      if (!first) throw new Error('nobody was asked');
      // As another process does it, whose notification is lost.
      await rig.database.connection.execute(
        sql`update runs set cancel_requested_at = clock_timestamp() where id = ${id}`,
      );
      await vote(rig.engine, first, 'approve');
      const run = await rig.engine.finished(id);
      expect(run).toMatchObject({
        status: 'cancelled',
        invocations: [
          { status: 'blocked', error: { code: expect.stringMatching(/^(cancelled|revoked)$/) } },
          { status: 'blocked', error: { code: 'cancelled' } },
        ],
      });
      const after = await rig.engine.confirmations.get(first.id);
      if (after?.status === 'approved')
        expect(after.execution).toMatchObject({ status: expect.stringMatching(/^(failed|revoked)$/) });
      expect(rig.payments.calls).toEqual([]);
    },
  );

  describe('a cancellation', () => {
    it.each(EXECUTORS)(
      'before the gate has answered leaves no open request behind ($executor)',
      async ({ start }) => {
        let release = () => {};
        let asking = false;
        rig.engine.gateFault = () => {
          asking = true;
          return new Promise((resolve) => {
            release = resolve;
          });
        };
        const { id } = await start(rig.engine, [pay()]);
        await until(() => asking);
        expect(await rig.engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled' });
        release();
        // The gate goes on by itself; a further request that it stores afterwards shows that it has come so far.
        rig.engine.gateFault = null;
        const later = await start(rig.engine, [pay('2.00')]);
        await onlyRequest(rig.engine, later.id);
        await rig.engine.engine.runs.cancel(later.id);
        expect((await rig.engine.confirmations.list({ status: 'pending', limit: 10 })).items).toEqual([]);
        expect(rig.payments.calls).toEqual([]);
      },
    );

    it.each(EXECUTORS)(
      'between the claim and the sending keeps the call from being sent ($executor)',
      async ({ start }) => {
        const { id } = await start(rig.engine, [pay()]);
        const request = await onlyRequest(rig.engine, id);
        let cancelled: Promise<unknown> = Promise.resolve();
        rig.engine.afterClaim = () => {
          cancelled = other.engine.runs.cancel(id);
        };
        await rig.engine.decide(request.id, 'approve');
        const run = await rig.engine.finished(id);
        await cancelled;
        const after = await rig.engine.confirmations.get(request.id);
        const paid = rig.payments.calls.length;
        expect(run.invocations[0]?.status).toBe(paid === 1 ? 'succeeded' : 'blocked');
        expect(after).toMatchObject({ execution: { status: paid === 1 ? 'succeeded' : 'failed' } });
      },
    );

    it.each(EXECUTORS)(
      'while the payment is made waits for its outcome and records it ($executor)',
      async ({ start }) => {
        const { id } = await start(rig.engine, [{ tool: 'oa__pay_slowly', args: pay().args ?? {} }]);
        const request = await onlyRequest(rig.engine, id);
        await rig.engine.decide(request.id, 'approve');
        await until(() => rig.payments.callsTo('/slow').length === 1);
        await other.engine.runs.cancel(id);
        expect(await rig.engine.finished(id)).toMatchObject({
          status: 'cancelled',
          invocations: [{ status: 'succeeded', result: { slow: true } }],
        });
        expect(await rig.engine.confirmations.get(request.id)).toMatchObject({
          execution: { status: 'succeeded' },
        });
      },
    );

    it.each(EXECUTORS)('after the end changes nothing ($executor)', async ({ start }) => {
      const { id } = await start(rig.engine, [{ tool: 'oa__log' }]);
      const finished = await rig.engine.finished(id);
      expect(await rig.engine.engine.runs.cancel(id)).toEqual(finished);
    });

    it('while the model thinks ends the run, and the model is not asked again', async () => {
      rig.model.script('buyer', [{ silent: true }, { text: 'never said' }]);
      const { id } = await rig.engine.start({ agent: BUYER, input: script([]) });
      await until(() => rig.model.requests.length === 1);
      expect(await rig.engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled', invocations: [] });
      expect(rig.model.requests.length).toBe(1);
      rig.model.script('buyer', []);
    });
  });

  it.each(EXECUTORS)(
    '152, 154: another run of the conversation goes its own way while one waits ($executor)',
    async ({ start }) => {
      const waiting = await start(rig.engine, [pay('1.00')], { session: 'monday' });
      const request = await onlyRequest(rig.engine, waiting.id);
      const unrelated = await start(rig.engine, [{ tool: 'oa__weather' }], { session: 'monday' });
      expect((await rig.engine.finished(unrelated.id)).status).toBe('succeeded');
      // Of a second person, through a second process.
      const third = await start(other, [pay('2.00')], {
        session: 'monday',
        requester: personId('wang.fang'),
      });
      const theirs = await onlyRequest(rig.engine, third.id);
      expect((await rig.engine.confirmations.get(request.id))?.status).toBe('pending');
      await rig.engine.decide(theirs.id, 'approve');
      await rig.engine.finished(third.id);
      await rig.engine.decide(request.id, 'reject');
      expect((await rig.engine.finished(waiting.id)).status).toBe('succeeded');
      expect(rig.payments.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['2.00']);
    },
  );
});
