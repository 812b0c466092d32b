import { type SQL, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DecideInput, DecideOutcome } from '../../src/confirmation/confirmation-service.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { type ConfirmationId, newRunId, type RunId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

const AT_ONCE = 40;

describe.each(DATABASES)('decisions that come at once on $name', ({ open }) => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(() => {
    core.policy = POLICY;
    core.inactive.clear();
    core.absences.clear();
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const vote = (id: ConfirmationId, by: string, more: Partial<DecideInput> = {}): Promise<DecideOutcome> =>
    core.service.decide({
      id,
      person: person(by),
      verdict: 'approve',
      reason: null,
      argsDigest: null,
      surface: { kind: 'api' },
      ...more,
    });

  const pendings = async (count: number) => {
    const ids: ConfirmationId[] = [];
    for (let index = 0; index < count; index += 1) ids.push(await core.pending());
    return ids;
  };

  const eventsOf = async (id: ConfirmationId) => {
    const found = await rowsOf<{ kind: string }>(
      database.connection,
      sql`select kind from audit_events where confirmation_id = ${id} order by request_seq`,
    );
    return found.map(({ kind: name }) => name);
  };

  const transactionsOf = async (ids: readonly ConfirmationId[]) => {
    const [row] = await rowsOf<{ count: number }>(
      database.connection,
      sql`select count(distinct xmin::text)::int as count from votes
          where confirmation_id = any(${sql.param(ids)}::uuid[])`,
    );
    return row?.count ?? 0;
  };

  it('are made in few transactions, and each is whole: vote, decision, events, one time', async () => {
    const ids = await pendings(AT_ONCE);
    const outcomes = await Promise.all(ids.map((id) => vote(id, 'li.wei')));
    expect(outcomes.map(({ kind: outcome }) => outcome)).toEqual(ids.map(() => 'recorded'));
    expect(await transactionsOf(ids)).toBeLessThan(AT_ONCE / 4);
    for (const [index, id] of ids.entries()) {
      const request = await core.service.get(id);
      expect(outcomes[index]).toMatchObject({ request: { id, status: 'approved' }, closed: true });
      expect(request).toMatchObject({ status: 'approved', decision: { by: { id: 'li.wei' } } });
      expect(request?.votes.map(({ at }) => at)).toEqual([
        request?.status === 'approved' && request.decision.at,
      ]);
      expect(await eventsOf(id)).toEqual(['confirmation.requested', 'vote.cast', 'confirmation.decided']);
    }
  });

  it('each get their own answer: cast, refused, repeated, late, already decided, unknown', async () => {
    const [cast, refused, repeated, decidedBefore, rejected] = await pendings(5);
    if (!cast || !refused || !repeated || !decidedBefore || !rejected) throw new Error('there are five');
    core.policy = { ...POLICY, decideWithinMs: 1 };
    const [late] = await pendings(1);
    core.policy = { ...POLICY, reason: 'always' };
    const [silent, hostile] = await pendings(2);
    if (!late || !silent || !hostile) throw new Error('there are three');
    await vote(repeated, 'li.wei');
    await vote(decidedBefore, 'wang.fang');
    const answers = await Promise.all([
      vote(cast, 'li.wei'),
      vote(refused, 'owner'),
      vote(repeated, 'li.wei'),
      vote(decidedBefore, 'li.wei'),
      vote(rejected, 'li.wei', { verdict: 'reject', reason: '  no order  ' }),
      vote(late, 'li.wei'),
      vote(silent, 'li.wei'),
      vote(hostile, 'li.wei', { reason: 'a\0b\ud800c' }),
      vote('0199a8f0-0000-7000-8000-000000000000' as ConfirmationId, 'li.wei'),
    ]);
    expect(answers.map((answer) => (answer.kind === 'refused' ? answer.code : answer.kind))).toEqual([
      'recorded',
      'not_an_approver',
      'repeated',
      'already-decided',
      'recorded',
      'expired',
      'reason-required',
      'recorded',
      'not-found',
    ]);
    expect(await core.service.get(rejected)).toMatchObject({
      status: 'rejected',
      decision: { reason: 'no order' },
      votes: [{ verdict: 'reject', reason: 'no order' }],
    });
    expect(await core.service.get(hostile)).toMatchObject({ decision: { reason: 'a\ufffdb\ufffdc' } });
    expect(await core.service.get(late)).toMatchObject({ status: 'expired', votes: [] });
  });

  it('on one request are made one after the other, and its quorum holds', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    const [id] = await pendings(1);
    if (!id) throw new Error('there is one');
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => vote(id, 'li.wei')),
      vote(id, 'wang.fang'),
      ...Array.from({ length: 20 }, () => vote(id, 'chen.jie')),
    ]);
    expect(answers.filter((answer) => answer.kind === 'recorded' && answer.closed)).toHaveLength(1);
    const request = await core.service.get(id);
    expect(request?.votes.map(({ person: { id: by } }) => by)).toEqual(['li.wei', 'wang.fang']);
  });

  it('seat a delegate whose time has come, as a vote on its own does', async () => {
    core.absences.set('wang.fang', { from: null, until: null, delegate: person('owner') });
    const ids = await pendings(3);
    const answers = await Promise.all(ids.map((id) => vote(id, 'li.wei')));
    expect(answers.map(({ kind: outcome }) => outcome)).toEqual(['recorded', 'recorded', 'recorded']);
  });

  /** Runs `work` while another transaction holds what `lock` locks; gives it the function that ends that one. */
  const whileHeld = async (lock: SQL, work: (letGo: () => Promise<void>) => Promise<void>) => {
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let isHeld: () => void = () => {};
    const locked = new Promise<void>((resolve) => {
      isHeld = resolve;
    });
    const holder = database.transaction(async (inside) => {
      await inside.execute(lock);
      isHeld();
      await ended;
    });
    const letGo = () => {
      end();
      return holder;
    };
    await locked;
    await work(letGo).finally(letGo);
  };

  it('pass by a request that somebody holds, and that one is decided once it is let go', async () => {
    if (database.kind === 'embedded') return;
    const ids = await pendings(10);
    const [held, ...free] = ids;
    if (!held) throw new Error('there are ten');
    await whileHeld(sql`select from confirmations where id = ${held} for update`, async (letGo) => {
      let heldIsDecided = false;
      const late = vote(held, 'li.wei').then((answer) => {
        heldIsDecided = true;
        return answer;
      });
      const answers = await Promise.all(free.map((id) => vote(id, 'li.wei')));
      expect(answers.map(({ kind: outcome }) => outcome)).toEqual(free.map(() => 'recorded'));
      expect(heldIsDecided).toBe(false);
      await letGo();
      expect(await late).toMatchObject({ kind: 'recorded', closed: true });
    });
  });

  const parkedRun = async (): Promise<RunId> => {
    const id = newRunId();
    await database.connection.execute(sql`
      insert into runs (id, organization, agent, executor, status, input, session, requester_named_by_agent,
                        evaluation, parked_at)
      values (${id}, 'acme', 'procurement', 'react', 'waiting', '', 's', false, false, clock_timestamp())`);
    return id;
  };

  it.each([
    ['card', (id: ConfirmationId) => sql`select from deliveries where confirmation_id = ${id} for update`],
    [
      'parked run',
      (id: ConfirmationId) =>
        sql`select from runs where id = (select run_id from confirmations where id = ${id}) for update`,
    ],
  ])('are not lost, and wait for nothing, where the %s of one is held', async (_what, lock) => {
    if (database.kind === 'embedded') return;
    const ids = await pendings(9);
    const held = await core.pending(undefined, { runId: await parkedRun() });
    await whileHeld(lock(held), async (letGo) => {
      const begunAt = performance.now();
      // The first two come alone, and the others together.
      const others = ids.map((id) => vote(id, 'li.wei'));
      const late = vote(held, 'li.wei');
      expect((await Promise.all(others)).map(({ kind: outcome }) => outcome)).toEqual(
        ids.map(() => 'recorded'),
      );
      expect(performance.now() - begunAt).toBeLessThan(1_500);
      expect(await core.service.get(held)).toMatchObject({ status: 'pending', votes: [] });
      await letGo();
      expect(await late).toMatchObject({ kind: 'recorded', closed: true });
    });
  });

  it('are all made where two replicas wake the same parked runs the other way round', async () => {
    if (database.kind === 'embedded') return;
    const other = startCore(database);
    await database.connection.execute(
      sql.raw(`create or replace function slowly() returns trigger language plpgsql as $$
        begin perform pg_sleep(0.05); return null; end $$`),
    );
    await database.connection.execute(
      sql`create trigger slowly after update on runs for each row execute function slowly()`,
    );
    try {
      const [a, b] = [await parkedRun(), await parkedRun()];
      const runs = [a, b, b, a];
      const ids: ConfirmationId[] = [];
      for (const runId of runs) ids.push(await core.pending(undefined, { runId }));
      const decideBy = (service: Core['service'], mine: readonly ConfirmationId[]) =>
        mine.map((id) =>
          service.decide({
            ...{ id, person: person('li.wei'), verdict: 'approve', reason: null, argsDigest: null },
            surface: { kind: 'api' },
          }),
        );
      const [before, after] = [await pendings(2), await pendings(2)];
      const made = await Promise.all([
        ...decideBy(core.service, [...before, ...ids.slice(0, 2)]),
        ...decideBy(other.service, [...after, ...ids.slice(2)]),
      ]);
      expect(made.map(({ kind: outcome }) => outcome)).toEqual(made.map(() => 'recorded'));
    } finally {
      await database.connection.execute(sql`drop trigger slowly on runs`);
      other.stop();
    }
  });

  it('are each made on their own where one of them brings a fault', async () => {
    const ids = await pendings(12);
    const [poisoned, ...others] = ids;
    if (!poisoned) throw new Error('there are twelve');
    await database.connection.execute(
      sql.raw(`create or replace function poison() returns trigger language plpgsql as $$
        begin if new.confirmation_id = '${poisoned}' then raise exception 'poisoned'; end if; return new; end $$`),
    );
    await database.connection.execute(
      sql`create trigger poison before insert on votes for each row execute function poison()`,
    );
    try {
      const made = await Promise.allSettled(ids.map((id) => vote(id, 'li.wei')));
      expect(made.map(({ status }) => status)).toEqual(['rejected', ...others.map(() => 'fulfilled')]);
    } finally {
      await database.connection.execute(sql`drop trigger poison on votes`);
    }
    expect(await core.service.get(poisoned)).toMatchObject({ status: 'pending', votes: [] });
    for (const id of others) {
      expect(await eventsOf(id)).toEqual(['confirmation.requested', 'vote.cast', 'confirmation.decided']);
    }
    expect(await vote(poisoned, 'li.wei')).toMatchObject({ kind: 'recorded' });
  });
});
