import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { ConfirmationRequest } from '../../src/confirmation/confirmation-request.ts';
import type { Settlement } from '../../src/confirmation/confirmation-service.ts';
import { FreezeStore } from '../../src/db/freeze-store.ts';
import type { ConfirmationId, RunId } from '../../src/ids.ts';
import { personId } from '../../src/ids.ts';
import {
  BUYER,
  type Call,
  type CaseRig,
  EXECUTORS,
  PAYMENT,
  pay,
  script,
  startRig,
  vote,
} from '../cases/case-rig.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import type { EngineFixture } from './engine-fixture.ts';
import { toolNode } from './engine-fixture.ts';

const AGAIN: Call = { tool: 'oa__pay_again', args: PAYMENT };
const NEVER: Call = { tool: 'oa__pay_never', args: PAYMENT };

const withTwoApprovers = (config: Config): Config => ({
  ...config,
  people: config.people.flatMap((person) =>
    person.id === 'li.wei' ? [person, { ...person, id: personId('wang.fang'), name: '王芳' }] : [person],
  ),
  defaultPolicy: config.defaultPolicy && {
    ...config.defaultPolicy,
    approvers: ['li.wei', 'wang.fang'].map(personId),
  },
});

describe('a call whose outcome nobody knows', () => {
  let rig: CaseRig;
  let other: EngineFixture;

  beforeAll(async () => {
    rig = await startRig({ change: withTwoApprovers });
    other = await rig.another();
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    rig.payments.breaks = 1;
  });

  const get = async (id: ConfirmationId): Promise<ConfirmationRequest> => {
    const request = await rig.engine.confirmations.get(id);
    if (!request) throw new Error(`no ${id}`);
    return request;
  };

  /** Approves the run's call and lets it come to its unknown outcome, past which the old attempt can send nothing. */
  async function unknown(run: RunId): Promise<ConfirmationId> {
    const [request] = await rig.engine.asked(run);
    if (!request) throw new Error('nobody was asked');
    await rig.engine.decide(request.id, 'approve');
    await until(async () => {
      const { status, ...rest } = await get(request.id);
      return status === 'approved' && 'execution' in rest && rest.execution.status === 'unknown';
    });
    await endOldAttempt(rig.database, request.id);
    return request.id;
  }

  const settle = (id: ConfirmationId, status: Settlement, engine = rig.engine, person = 'li.wei') =>
    engine.confirmations.settle({
      id,
      person: personId(person),
      status,
      detail: 'looked it up',
      surface: { kind: 'api' },
    });

  async function askedAgain(id: ConfirmationId): Promise<ConfirmationRequest> {
    expect(await settle(id, 'run_again')).toMatchObject({ kind: 'settled' });
    const { supersededBy } = await get(id);
    if (supersededBy === null) throw new Error('nothing took its place');
    return get(supersededBy);
  }

  const openUnknowns = async () => {
    const { items } = await rig.engine.confirmations.list({ execution: 'unknown', limit: 100 });
    return items.map(({ id }) => id);
  };

  const ended = (id: ConfirmationId, status: string) =>
    until(async () => {
      const request = await get(id);
      return request.status === 'approved' && request.execution.status === status;
    });

  const kinds = async (run: RunId) => (await rig.engine.recorded(run)).map(({ kind }) => kind);
  const keysOf = (path: string) =>
    rig.payments.callsTo(path).map(({ headers }) => headers['idempotency-key']);

  it.each(EXECUTORS)(
    'runs again once people approve exactly that, under the same key ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [AGAIN]);
      const first = await unknown(id);
      const second = await askedAgain(first);
      const { invocationId, args, argsDigest, policy } = await get(first);
      expect(second).toMatchObject({
        status: 'pending',
        supersedes: first,
        invocationId,
        args,
        argsDigest,
        runId: id,
        policy: { quorum: policy.quorum },
      });
      expect(keysOf('/flaky')).toEqual([invocationId]);

      await vote(rig.engine, second, 'approve');
      await ended(second.id, 'succeeded');
      const run = await rig.engine.finished(id);
      expect(run).toMatchObject({
        status: 'succeeded',
        invocations: [{ status: 'succeeded', confirmation: first }],
      });
      expect(run.invocations[0]?.result).toEqual({ payment: 'P-2', total: '10.00' });
      expect(keysOf('/flaky')).toEqual([invocationId, invocationId]);
      expect(await get(first)).toMatchObject({
        supersededBy: second.id,
        execution: { status: 'unknown', rerun: { by: { id: 'li.wei' }, reason: 'looked it up' } },
      });
      expect(await settle(first, 'failed')).toMatchObject({ kind: 'refused', code: 'superseded' });
      // A plan goes on with the outcome; the event of the attempt may come a moment later.
      const recorded = await until(async () => {
        const events = await rig.engine.recorded(id);
        return events.filter(({ kind }) => kind === 'tool.executed').length > 1 ? events : null;
      });
      expect(recorded.find(({ kind }) => kind === 'outcome.settled')).toMatchObject({
        confirmation: first,
        data: { status: 'run_again', supersededBy: second.id, person: 'li.wei' },
      });
      expect(recorded.filter(({ kind }) => kind === 'tool.executed').map(({ data }) => data.status)).toEqual([
        'unknown',
        'succeeded',
      ]);
    },
  );

  it('a plan goes on with what the second attempt answered', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      plan: [
        toolNode('a', 'oa__pay_again', PAYMENT),
        toolNode('b', 'oa__pay', { payee: 'Acme Ltd', amount: { $from: 'a', path: '/total' } }),
      ],
    });
    const second = await askedAgain(await unknown(id));
    await vote(rig.engine, second, 'approve');
    const next = await until(async () => (await rig.engine.asked(id)).find(({ tool }) => tool === 'oa__pay'));
    expect(next.args).toEqual(PAYMENT);
    await rig.engine.decide(next.id, 'approve');
    expect(await rig.engine.finished(id)).toMatchObject({ status: 'succeeded' });
  });

  it.each(EXECUTORS)(
    'is as unknown as before where people say no, and can be settled then ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [AGAIN]);
      const first = await unknown(id);
      const second = await askedAgain(first);
      const { version } = await get(first);
      await vote(rig.engine, second, 'reject');
      expect(await get(first)).toMatchObject({
        supersededBy: null,
        version: version + 1,
        execution: { status: 'unknown', rerun: null, settleOpen: true },
      });
      expect(await kinds(id)).toContain('outcome.reopened');
      expect(await settle(first, 'succeeded')).toMatchObject({ kind: 'settled' });
      expect(await rig.engine.finished(id)).toMatchObject({
        status: 'succeeded',
        invocations: [{ status: 'succeeded' }],
      });
      expect(rig.payments.callsTo('/flaky').length).toBe(1);
    },
  );

  it('a second attempt that fails says nothing of the first; one that nobody knows is settled itself', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([NEVER]) });
    const first = await unknown(id);
    const second = await askedAgain(first);
    await vote(rig.engine, second, 'approve');
    await ended(second.id, 'unknown');
    await endOldAttempt(rig.database, second.id);
    expect(await settle(first, 'succeeded')).toMatchObject({ kind: 'refused', code: 'superseded' });
    const third = await askedAgain(second.id);
    await rig.engine.confirmations.cancel({ id: third.id, actor: { type: 'system' }, reason: null });
    expect(await settle(second.id, 'failed')).toMatchObject({ kind: 'settled' });
    expect(await rig.engine.finished(id)).toMatchObject({
      invocations: [{ status: 'failed', error: { code: 'tool_failed', message: 'looked it up' } }],
    });
    // A person's word is about the effect, of which there is one: the older request is not open again.
    expect(await get(first)).toMatchObject({ supersededBy: second.id });
  });

  it.each(EXECUTORS)(
    'may take more than one more attempt: each is asked about, and the run goes on with the last ($executor)',
    async ({ start }) => {
      rig.payments.breaks = 2;
      const { id } = await start(rig.engine, [AGAIN]);
      const first = await unknown(id);
      expect(await openUnknowns()).toContain(first);
      const second = await askedAgain(first);
      await vote(rig.engine, second, 'approve');
      await ended(second.id, 'unknown');
      await endOldAttempt(rig.database, second.id);
      // The newer one holds the outcome: nothing is left to say about the older.
      const open = await openUnknowns();
      expect([open.includes(first), open.includes(second.id)]).toEqual([false, true]);
      const third = await askedAgain(second.id);
      expect(third).toMatchObject({ supersedes: second.id, argsDigest: second.argsDigest });
      await vote(other, third, 'approve');
      await ended(third.id, 'succeeded');
      expect(await rig.engine.finished(id)).toMatchObject({
        status: 'succeeded',
        invocations: [{ status: 'succeeded', confirmation: first, result: { payment: 'P-2' } }],
      });
      expect(new Set(keysOf('/flaky')).size).toBe(1);
      expect(keysOf('/flaky').length).toBe(3);
    },
  );

  it('a second attempt that is frozen meanwhile is not made, and the outcome is as unknown as before', async () => {
    const freezes = new FreezeStore(rig.database);
    const { id } = await rig.engine.start({ agent: BUYER, input: script([AGAIN]) });
    const first = await unknown(id);
    const second = await askedAgain(first);
    const by = { id: personId('li.wei'), name: '李伟' };
    await freezes.start({ tools: ['oa__*'], reason: 'x', by });
    await vote(rig.engine, second, 'approve');
    await ended(second.id, 'revoked');
    expect(await get(first)).toMatchObject({ supersededBy: null, execution: { status: 'unknown' } });
    // Asked about while it is frozen, and decided when it is not any more.
    const third = await askedAgain(first);
    for (const freeze of await freezes.active())
      for (const ending of [by, { id: personId('zhao.min'), name: '赵敏' }])
        await freezes.end({ id: freeze.id, by: ending, mayStill: () => true });
    await vote(rig.engine, third, 'approve');
    await ended(third.id, 'succeeded');
    expect(rig.payments.callsTo('/flaky').length).toBe(2);
  });

  it('one of many people at once has the word, and the others are told whose it was', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([AGAIN]) });
    const first = await unknown(id);
    const said = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        settle(
          first,
          (['succeeded', 'failed', 'run_again'] as const)[index % 3] ?? 'failed',
          index % 2 === 0 ? rig.engine : other,
          index % 4 < 2 ? 'li.wei' : 'wang.fang',
        ),
      ),
    );
    expect(said.filter(({ kind }) => kind === 'settled')).toHaveLength(1);
    const request = await get(first);
    const execution = request.status === 'approved' ? request.execution : null;
    const by =
      execution?.status === 'unknown'
        ? execution.rerun?.by
        : execution && 'settledBy' in execution
          ? execution.settledBy
          : null;
    expect(by).toMatchObject({ id: expect.stringMatching(/^(li\.wei|wang\.fang)$/) });
    for (const loser of said.filter(({ kind }) => kind !== 'settled')) {
      expect(loser).toMatchObject({
        kind: 'refused',
        code: expect.stringMatching(/^(superseded|not_unknown)$/),
      });
    }
    const settled = (await rig.engine.recorded(id)).filter(({ kind }) => kind === 'outcome.settled');
    expect(settled).toMatchObject([{ data: { person: by?.id } }]);
    if (request.supersededBy !== null)
      await rig.engine.confirmations.cancel({
        id: request.supersededBy,
        actor: { type: 'system' },
        reason: null,
      });
  });

  it('is nobody’s to settle before the old attempt can no longer send, nor to run again where that could pay twice', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      input: script([{ tool: 'oa__pay_broken', args: PAYMENT }]),
    });
    const [request] = await rig.engine.asked(id);
    if (!request) throw new Error('nobody was asked');
    await rig.engine.decide(request.id, 'approve');
    await ended(request.id, 'unknown');
    expect(await settle(request.id, 'failed')).toMatchObject({ kind: 'refused', code: 'not_yet_settleable' });
    expect(await get(request.id)).toMatchObject({ execution: { settleOpen: false } });
    await endOldAttempt(rig.database, request.id);
    await until(async () => {
      const { status, ...rest } = await get(request.id);
      return (
        status === 'approved' &&
        'execution' in rest &&
        'settleOpen' in rest.execution &&
        rest.execution.settleOpen
      );
    });
    expect(await settle(request.id, 'run_again')).toMatchObject({ kind: 'refused', code: 'not_repeatable' });
    expect(
      await rig.engine.confirmations.settle({
        id: request.id,
        person: personId('zhao.min'),
        status: 'failed',
        detail: 'I say so',
        surface: { kind: 'api' },
      }),
    ).toMatchObject({ kind: 'refused', code: 'not_an_approver' });
    expect(await settle(request.id, 'failed')).toMatchObject({ kind: 'settled' });
  });

  it('two processes run it again once', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([AGAIN]) });
    const first = await unknown(id);
    const second = await askedAgain(first);
    await vote(other, second, 'approve');
    await ended(second.id, 'succeeded');
    expect(rig.payments.callsTo('/flaky').length).toBe(2);
  });

  it('a process whose claim breaks says nothing of the attempt, which another one may be making', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([AGAIN]) });
    const first = await unknown(id);
    const second = await askedAgain(first);
    let broken = 0;
    other.claimFault = () => {
      broken += 1;
      throw new Error('the connection broke');
    };
    // The other one is never too late to break.
    rig.engine.claimFault = () => {
      if (broken === 0) throw new Error('the connection broke');
    };
    await vote(other, second, 'approve');
    await ended(second.id, 'succeeded');
    rig.engine.claimFault = null;
    other.claimFault = null;
    expect(rig.payments.callsTo('/flaky').length).toBe(2);
    const { invocations } = await rig.engine.finished(id);
    expect(invocations).toMatchObject([{ status: 'succeeded' }]);
  });

  it('a process whose claim was made and never answered finds it again, and sends once', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([AGAIN]) });
    const second = await askedAgain(await unknown(id));
    for (const engine of [rig.engine, other]) {
      engine.afterClaim = () => {
        for (const each of [rig.engine, other]) each.afterClaim = null;
        throw new Error('the connection broke');
      };
    }
    await vote(other, second, 'approve');
    await ended(second.id, 'succeeded');
    expect(rig.payments.callsTo('/flaky').length).toBe(2);
  });

  it('a cancelled run withdraws the question, and nothing runs', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, plan: [toolNode('a', 'oa__pay_again', PAYMENT)] });
    const first = await unknown(id);
    const second = await askedAgain(first);
    await rig.engine.engine.runs.cancel(id);
    expect(await rig.engine.finished(id)).toMatchObject({ status: 'cancelled' });
    await until(async () => (await get(second.id)).status === 'cancelled');
    expect(rig.payments.callsTo('/flaky').length).toBe(1);
  });

  it('a run that somebody has asked to stop gets nothing run again, even where its own process has not heard of it', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, plan: [toolNode('a', 'oa__pay_again', PAYMENT)] });
    const second = await askedAgain(await unknown(id));
    await rig.database.connection.execute(
      sql`update runs set cancel_requested_at = clock_timestamp() where id = ${id}`,
    );
    await vote(rig.engine, second, 'approve');
    expect(await rig.engine.finished(id)).toMatchObject({ status: 'cancelled' });
    await until(async () => {
      const { status, ...rest } = await get(second.id);
      if (status !== 'approved' || !('execution' in rest)) return status === 'cancelled';
      return ['failed', 'revoked'].includes(rest.execution.status);
    });
    expect(rig.payments.callsTo('/flaky').length).toBe(1);
  });

  it('a run that is cancelled while it goes on without knowing closes the question, and with it its cards', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([AGAIN, pay()]) });
    const [first] = await rig.engine.asked(id, 2);
    if (!first) throw new Error('nobody was asked');
    await rig.engine.decide(first.id, 'approve');
    await ended(first.id, 'unknown');
    await endOldAttempt(rig.database, first.id);
    const second = await askedAgain(first.id);
    await rig.engine.engine.runs.cancel(id);
    await until(async () => (await get(second.id)).status === 'cancelled');
    expect(await get(first.id)).toMatchObject({ supersededBy: null, execution: { status: 'unknown' } });
    expect(await get(second.id)).toMatchObject({ version: second.version + 1 });
    const recorded = await rig.engine.recorded(id);
    expect(recorded.filter(({ confirmation }) => confirmation === second.id).at(-1)).toMatchObject({
      kind: 'confirmation.decided',
      data: { status: 'cancelled', reason: 'run_ended' },
    });
  });
});
