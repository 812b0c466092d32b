import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FollowedRejection } from '../../src/confirmation/followed-rejection.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { agentId, type ConfirmationId, newInvocationId, newRunId, type RunId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { type CallChanges, type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

const args = (amount: string): JsonObject => ({ amount, currency: 'CNY', payee: 'Acme' });

describe.each(DATABASES)('a request made after a rejection, on $name', ({ open }) => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(() => {
    core.policy = POLICY;
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const inRun = (runId: RunId, changes: CallChanges = {}): CallChanges => ({
    runId,
    ...changes,
    metadata: { invocationId: newInvocationId() },
  });
  const followsOf = async (id: ConfirmationId): Promise<FollowedRejection | null> => {
    const request = await core.service.get(id);
    if (request === null) throw new Error(`no ${id}`);
    return request.follows;
  };
  const vote = (
    id: ConfirmationId,
    verdict: 'approve' | 'reject',
    reason: string | null = null,
    by = 'li.wei',
  ) =>
    core.service.decide({
      id,
      person: person(by),
      verdict,
      reason,
      argsDigest: null,
      surface: { kind: 'api' },
    });

  it('names the one that a person rejected last for the same tool in the same run, when and why', async () => {
    const run = newRunId();
    const first = await core.pending(args('1'), inRun(run));
    expect(await followsOf(first)).toBeNull();
    await vote(first, 'reject', 'change the amount');
    const rejected = await core.service.get(first);
    const second = await core.pending(args('2'), inRun(run));
    expect(await followsOf(second)).toEqual({
      id: first,
      at: rejected?.status === 'rejected' && rejected.decision.at,
      by: { id: 'li.wei', name: 'li.wei' },
      reason: 'change the amount',
      sameArguments: false,
      samePolicy: true,
    });
    await vote(second, 'reject', null, 'wang.fang');
    core.policy = { ...POLICY, id: 'another' };
    expect(await followsOf(await core.pending(args('2'), inRun(run)))).toMatchObject({
      id: second,
      by: { id: 'wang.fang' },
      reason: null,
      sameArguments: true,
      samePolicy: false,
    });
  });

  it('names none of another tool, of another run, or that ended in any other way', async () => {
    const run = newRunId();
    await vote(await core.pending(args('1'), inRun(run, { toolName: 'bank__close' })), 'reject');
    await vote(await core.pending(args('1'), inRun(newRunId())), 'reject');
    await vote(await core.pending(args('2'), inRun(run)), 'approve');
    const cancelled = await core.pending(args('3'), inRun(run));
    await core.service.cancel({ id: cancelled, actor: { type: 'system' }, reason: null });
    await core.pending(args('4'), inRun(run));
    expect(await followsOf(await core.pending(args('5'), inRun(run)))).toBeNull();
  });

  it('names one of an outside agent in the same session, which can only add a warning', async () => {
    const session = { sessionId: 'chat-1' };
    const rejected = await core.pending(args('1'), session);
    await vote(rejected, 'reject', 'twice');
    const following = (changes: CallChanges) => core.pending(args('1'), changes).then(followsOf);
    expect(await following(session)).toMatchObject({ id: rejected, reason: 'twice', sameArguments: true });
    expect(await following({ sessionId: 'chat-2' })).toBeNull();
    expect(await following({})).toBeNull();
    expect(await following({ ...session, agentId: agentId('sales') })).toBeNull();
    expect(await following(inRun(newRunId(), session))).toBeNull();
  });

  it('stays as it was when it was asked, on the record, and nobody can change it', async () => {
    const run = newRunId();
    const first = await core.pending(args('1'), inRun(run));
    const beside = await core.pending(args('2'), inRun(run));
    await vote(first, 'reject', 'no');
    const second = await core.pending(args('3'), inRun(run));
    await vote(beside, 'reject', 'nor this');
    expect((await followsOf(second))?.id).toBe(first);
    expect(await followsOf(beside)).toBeNull();
    const events = await database.connection
      .select({ data: auditEvents.data })
      .from(auditEvents)
      .where(
        sql`${eq(auditEvents.confirmationId, second)} and ${auditEvents.kind} = 'confirmation.requested'`,
      );
    expect(events).toMatchObject([{ data: { follows: first } }]);
    for (const value of ['null', `jsonb_set(follows, '{reason}', '"yes"')`]) {
      const changed = rowsOf(
        database.connection,
        sql`update confirmations set follows = ${sql.raw(value)} where id = ${second}`,
      );
      await expect(changed).rejects.toMatchObject({ cause: { message: /what was asked cannot change/ } });
    }
  });

  it('costs one look into an index, however many were rejected before', async () => {
    const run = newRunId();
    const first = await core.pending(args('1'), inRun(run));
    await vote(first, 'reject');
    await database.connection.execute(sql`
      insert into confirmations
      select (jsonb_populate_record(null::confirmations, to_jsonb(one) || jsonb_build_object(
        'id', gen_random_uuid(), 'invocation_id', gen_random_uuid(),
        'decided_at', one.decided_at - count * interval '1 second'))).*
      from confirmations as one, generate_series(1, 300) as count where one.id = ${first}`);
    await database.connection.execute(sql`analyze confirmations`);
    const plan = await rowsOf<Record<string, string>>(
      database.connection,
      sql`explain select id from confirmations where status = 'rejected' and decided_by_id is not null
          and run_id = ${run} and tool = 'bank__transfer' order by decided_at desc limit 1`,
    );
    expect(JSON.stringify(plan)).toMatch(/Index Scan using confirmations_rejected_in_run/);
    expect(JSON.stringify(plan)).not.toMatch(/Sort/);
    expect((await followsOf(await core.pending(args('2'), inRun(run))))?.id).toBe(first);
  });
});
