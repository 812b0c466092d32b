import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { deliveriesOf } from '../../src/db/delivery-store.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';

const surface = { kind: 'channel', id: channelId('pay-slack') } as const;
const HOUR_MS = 3_600_000;
const hours = (count: number) => new Date(Date.now() + count * HOUR_MS);

/** zhao.min asks, `owner` answers for the agent; li.wei, wang.fang, chen.jie have the seats. */
const SEATS = ['li.wei', 'wang.fang', 'chen.jie'].map(person);

describe.each(DATABASES)('seats on $name', ({ open }) => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(() => {
    core.policy = { ...POLICY, approvers: SEATS, quorum: 2 };
    core.inactive.clear();
    core.absences.clear();
    core.accounts.clear();
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const vote = (id: ConfirmationId, by: string, verdict: 'approve' | 'reject' = 'approve') =>
    core.service.decide({ id, person: person(by), verdict, reason: null, argsDigest: null, surface });
  /** The outcome in one word: the code of a refusal, or the status that the request has then. */
  const voted = async (id: ConfirmationId, by: string, verdict: 'approve' | 'reject' = 'approve') => {
    const outcome = await vote(id, by, verdict);
    if (outcome.kind === 'refused') return outcome.code;
    return outcome.kind === 'recorded' ? outcome.request.status : outcome.kind;
  };
  const away = (who: string, delegate: string | null, from: Date | null = null, to: Date | null = null) =>
    core.absences.set(who, { from, until: to, delegate: delegate === null ? null : person(delegate) });
  const events = (id: ConfirmationId, kind: string) =>
    rowsOf<{ kind: string; data: Record<string, unknown> }>(
      database.connection,
      sql`select kind, data from audit_events where confirmation_id = ${id} and kind = ${kind} order by request_seq`,
    );
  const deniedAs = async () => {
    const answer = await core.ask({ amount: '1' });
    if (answer.kind !== 'denied' || answer.confirmationId === null) throw new Error(`got ${answer.kind}`);
    const request = await core.service.get(answer.confirmationId);
    return request?.status === 'undeliverable' ? request.decision.reason : request?.status;
  };

  describe('a delegate', () => {
    it('takes an absent person’s seat once, in their own name', async () => {
      away('li.wei', 'voter-0');
      const id = await core.pending();
      expect(await voted(id, 'voter-0')).toBe('pending');
      expect(await voted(id, 'li.wei')).toBe('seat_taken');
      expect(await voted(id, 'wang.fang')).toBe('approved');
      const request = await core.service.get(id);
      expect(request?.votes.map(({ person: by, seat }) => [by.id, seat.id])).toEqual([
        ['voter-0', 'li.wei'],
        ['wang.fang', 'wang.fang'],
      ]);
      expect(await events(id, 'delegate.seated')).toMatchObject([
        { data: { person: 'voter-0', for: 'li.wei' } },
      ]);
      expect((await events(id, 'vote.cast'))[0]).toMatchObject({
        data: { person: 'voter-0', for: 'li.wei' },
      });
    });

    it('finds the seat taken where its holder has voted', async () => {
      away('li.wei', 'voter-0');
      const id = await core.pending();
      expect(await voted(id, 'li.wei')).toBe('pending');
      expect(await voted(id, 'voter-0')).toBe('seat_taken');
      expect(await voted(id, 'voter-0', 'reject')).toBe('seat_taken');
    });

    it('of two people fills one seat, not two', async () => {
      away('li.wei', 'voter-0');
      away('chen.jie', 'voter-0');
      const id = await core.pending();
      expect(await voted(id, 'voter-0')).toBe('pending');
      expect(await voted(id, 'voter-0')).toBe('repeated');
      expect((await core.service.get(id))?.votes).toHaveLength(1);
      expect(await voted(id, 'wang.fang')).toBe('approved');
    });

    it('who has a seat votes in that one alone', async () => {
      away('li.wei', 'wang.fang');
      const id = await core.pending();
      expect(await voted(id, 'wang.fang')).toBe('pending');
      expect((await core.service.get(id))?.votes[0]?.seat.id).toBe('wang.fang');
      expect(await voted(id, 'li.wei')).toBe('approved');
      expect(await events(id, 'delegate.seated')).toEqual([]);
    });

    it('acts only while the holder is away, and not while away as well', async () => {
      away('li.wei', 'voter-0', hours(1), hours(2));
      away('wang.fang', 'voter-1', hours(-2), hours(-1));
      away('chen.jie', 'voter-2', hours(-1), hours(1));
      away('voter-2', 'voter-3', hours(-1), hours(1));
      const id = await core.pending();
      for (const who of ['voter-0', 'voter-1', 'voter-2', 'voter-3'])
        expect(await voted(id, who), who).toBe('not_an_approver');
    });

    it('who asked, or answers for the agent, or is excluded, approves for nobody', async () => {
      core.policy = { ...core.policy, allowSelfApproval: true, excludedPeople: [person('voter-4')] };
      away('li.wei', 'zhao.min');
      away('wang.fang', 'owner');
      away('chen.jie', 'voter-4');
      core.policy = { ...core.policy, approvers: [...SEATS, ...['voter-5', 'voter-6'].map(person)] };
      const id = await core.pending();
      expect(await voted(id, 'zhao.min')).toBe('self_approval');
      expect(await voted(id, 'owner')).toBe('self_approval');
      expect(await voted(id, 'voter-4')).toBe('excluded');
    });

    it('cannot approve for somebody who could not approve themselves', async () => {
      core.policy = {
        ...core.policy,
        approvers: [person('zhao.min'), ...SEATS],
        excludedPeople: [person('li.wei')],
      };
      away('zhao.min', 'voter-0');
      away('li.wei', 'voter-1');
      const id = await core.pending();
      expect(await voted(id, 'voter-0')).toBe('self_approval');
      expect(await voted(id, 'voter-1')).toBe('excluded');
      expect(await voted(id, 'li.wei')).toBe('excluded');
    });

    it('frozen into the request stays its delegate, whatever the configuration says later', async () => {
      away('li.wei', 'voter-0');
      const id = await core.pending();
      away('li.wei', 'voter-1');
      away('wang.fang', 'voter-2');
      expect(await voted(id, 'voter-1')).toBe('not_an_approver');
      expect(await voted(id, 'voter-2')).toBe('not_an_approver');
      core.absences.clear();
      expect(await voted(id, 'voter-0')).toBe('pending');
    });

    it('is seated by time alone when the absence begins', async () => {
      away('li.wei', 'voter-0', new Date(Date.now() + 300));
      const id = await core.pending();
      expect(await core.service.get(id)).toMatchObject({ delegatedSeats: [], version: 1 });
      await until(async () => {
        await core.sweeper.sweep();
        return (await core.service.get(id))?.delegatedSeats.includes(person('li.wei')) === true;
      });
      expect(await core.service.get(id)).toMatchObject({ version: 2 });
      await Promise.all([core.sweeper.sweep(), core.sweeper.sweep()]);
      expect(await events(id, 'delegate.seated')).toHaveLength(1);
      expect(await voted(id, 'voter-0')).toBe('pending');
    });
  });

  describe('a quorum', () => {
    it('no longer counts the vote of somebody who has left since', async () => {
      const id = await core.pending();
      await vote(id, 'li.wei');
      core.inactive.add('li.wei');
      expect(await voted(id, 'wang.fang')).toBe('pending');
      expect(await voted(id, 'li.wei', 'reject')).toBe('inactive_person');
      expect(await voted(id, 'chen.jie')).toBe('approved');
    });

    it('no longer counts a delegate’s vote for somebody who has left since', async () => {
      away('li.wei', 'voter-0');
      const id = await core.pending();
      await vote(id, 'voter-0');
      core.inactive.add('li.wei');
      expect(await voted(id, 'wang.fang')).toBe('pending');
    });

    it('is refused by the database itself where a seat would be filled twice', async () => {
      const id = await core.pending();
      await vote(id, 'li.wei');
      await expect(
        database.connection.execute(sql`insert into votes
          select gen_random_uuid(), confirmation_id, 'voter-9', 'voter-9', verdict, reason, channel, args_digest, at, seat_id, seat_name
          from votes where confirmation_id = ${id}`),
      ).rejects.toMatchObject({
        cause: expect.objectContaining({ message: expect.stringContaining('votes_seat_once') }),
      });
    });
  });

  describe('a request that too few people could decide', () => {
    it('says why in numbers, and waits for nobody', async () => {
      away('li.wei', null);
      core.policy = { ...core.policy, excludedPeople: [person('wang.fang')] };
      expect(await deniedAs()).toBe(
        '1 of the approvers could decide this, and the policy large-payment asks for 2. Not counted: 1 away, 1 excluded.',
      );
    });

    it('counts a delegate for the absent, once, and not where they could not act', async () => {
      away('li.wei', 'voter-0');
      away('wang.fang', 'voter-0');
      expect((await core.ask({ amount: '1' })).kind).toBe('pending');
      away('chen.jie', 'voter-0');
      expect(await deniedAs()).toContain('1 of the approvers could decide this');
      away('chen.jie', 'owner');
      expect(await deniedAs()).toContain('2 away, with a delegate who cannot take the seat');
    });

    it('counts who comes back in time, and whom escalation will add', async () => {
      core.policy = { ...core.policy, approvers: SEATS.slice(0, 2) };
      away('li.wei', null, null, new Date(Date.now() + 30_000));
      expect((await core.ask({ amount: '1' })).kind).toBe('pending');
      away('li.wei', null);
      expect(await deniedAs()).toContain('asks for 2');
      core.policy = { ...core.policy, escalation: { afterMs: 30_000, to: [person('voter-0')] } };
      expect((await core.ask({ amount: '1' })).kind).toBe('pending');
    });
  });

  describe('escalation', () => {
    it('adds people once, lowers nothing and approves nothing', async () => {
      core.policy = { ...core.policy, escalation: { afterMs: 300, to: [person('voter-0')] } };
      const id = await core.pending();
      expect(await voted(id, 'voter-0')).toBe('not_an_approver');
      await until(async () => {
        await core.sweeper.sweep();
        return (await core.service.get(id))?.escalatedAt != null;
      });
      await Promise.all([core.sweeper.sweep(), core.sweeper.sweep()]);
      expect(await events(id, 'request.escalated')).toMatchObject([
        { data: { added: ['voter-0'], quorum: 2 } },
      ]);
      expect(await core.service.get(id)).toMatchObject({ status: 'pending', policy: { quorum: 2 } });
      expect(await voted(id, 'voter-0')).toBe('pending');
      expect(await voted(id, 'li.wei')).toBe('approved');
    });

    it('that is due counts for the vote that comes first', async () => {
      core.policy = { ...core.policy, escalation: { afterMs: 1, to: [person('voter-0')] } };
      const id = await core.pending();
      await until(async () => (await voted(id, 'voter-0')) !== 'not_an_approver');
      expect((await core.service.get(id))?.votes).toHaveLength(1);
    });

    it('never comes to a request that is closed', async () => {
      core.policy = {
        ...core.policy,
        escalation: { afterMs: 100, to: [person('voter-0')] },
        remindAfterMs: 100,
      };
      const id = await core.pending();
      await vote(id, 'li.wei', 'reject');
      const closedAt = Date.now();
      await until(() => Date.now() > closedAt + 150);
      await core.sweeper.sweep();
      expect(await core.service.get(id)).toMatchObject({ escalatedAt: null, remindedAt: null });
      await expect(
        database.connection.execute(sql`update confirmations set escalated_at = now() where id = ${id}`),
      ).rejects.toThrow();
    });
  });

  it('whoever gets a seat beside the approvers gets a card of their own, also where the chats alone are asked', async () => {
    for (const who of ['li.wei', 'voter-0', 'voter-1', 'owner'])
      core.accounts.set(who, [{ provider: 'slack', tenant: 'T0', ids: { user: `U-${who}` } }]);
    const cardsOf = async (id: ConfirmationId) =>
      ((await deliveriesOf(database.connection, [id])).get(id) ?? [])
        .map(({ person: to }) => to?.id ?? 'chat')
        .sort();
    // Stands in for two people, and is written to once; whoever may not approve is not written to.
    away('wang.fang', 'voter-0');
    away('chen.jie', 'voter-0');
    core.policy = {
      ...core.policy,
      channels: [channelId('pay-slack')],
      escalation: { afterMs: 200, to: [person('voter-1'), person('owner')] },
    };
    const id = await core.pending();
    expect(await cardsOf(id)).toEqual(['chat', 'voter-0']);
    await until(async () => {
      await core.sweeper.sweep();
      return (await core.service.get(id))?.escalatedAt != null;
    });
    expect(await cardsOf(id)).toEqual(['chat', 'voter-0', 'voter-1']);
  });

  it('a reminder is due once and changes no card', async () => {
    core.policy = { ...core.policy, remindAfterMs: 200 };
    const id = await core.pending();
    await until(async () => {
      await core.sweeper.sweep();
      return (await core.service.get(id))?.remindedAt != null;
    });
    await Promise.all([core.sweeper.sweep(), core.sweeper.sweep()]);
    expect(await events(id, 'request.reminded')).toHaveLength(1);
    expect(await core.service.get(id)).toMatchObject({ status: 'pending', version: 1 });
  });

  it('people find the requests in which they stand in for somebody, or were added', async () => {
    away('li.wei', 'voter-7');
    core.policy = { ...core.policy, escalation: { afterMs: 1, to: [person('voter-8')] } };
    const id = await core.pending();
    await until(
      async () => (await core.sweeper.sweep()) >= 0 && (await core.service.get(id))?.escalatedAt != null,
    );
    for (const who of ['voter-7', 'voter-8', 'li.wei'])
      expect((await core.service.list({ visibleTo: who, limit: 10 })).items.map((item) => item.id)).toContain(
        id,
      );
    expect((await core.service.list({ visibleTo: 'voter-9', limit: 10 })).items).toEqual([]);
  });
});
