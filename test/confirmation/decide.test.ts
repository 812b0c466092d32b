import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DecideInput } from '../../src/confirmation/confirmation-service.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';

const surface = { kind: 'channel', id: channelId('pay-slack') } as const;

describe.each(DATABASES)('decisions on $name', ({ open }) => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(() => {
    core.policy = POLICY;
    core.inactive.clear();
    core.versions.clear();
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const vote = (
    id: ConfirmationId,
    by: string,
    verdict: 'approve' | 'reject',
    more: Partial<DecideInput> = {},
  ) =>
    core.service.decide({
      id,
      person: person(by),
      verdict,
      reason: null,
      argsDigest: null,
      surface,
      ...more,
    });

  const events = async (id: ConfirmationId) => {
    const list = await rowsOf<{ kind: string; data: { code?: string } }>(
      database.connection,
      sql`select kind, data from audit_events where confirmation_id = ${id} order by request_seq`,
    );
    return list.map((event) => (event.data.code ? `${event.kind}:${event.data.code}` : event.kind));
  };

  /** Moves the deadline into the past, as only the owner of the database can. */
  const pastDeadline = async (id: ConfirmationId) => {
    await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
    await database.connection.execute(
      sql`update confirmations set created_at = created_at - interval '1 hour', decide_by = decide_by - interval '1 hour' where id = ${id}`,
    );
    await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
  };

  it('close with the vote that completes the quorum, and open a grant', async () => {
    const id = await core.pending();
    const outcome = await vote(id, 'li.wei', 'approve');
    expect(outcome).toMatchObject({
      kind: 'recorded',
      closed: true,
      request: { status: 'approved', decision: { by: { id: 'li.wei' } }, execution: { status: 'unclaimed' } },
    });
    expect(await events(id)).toEqual([
      'confirmation.requested',
      'vote.cast',
      'confirmation.decided:approved',
    ]);
  });

  it('need as many distinct people as the quorum says, however often one of them votes', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    const id = await core.pending();
    expect(await vote(id, 'li.wei', 'approve')).toMatchObject({ kind: 'recorded', closed: false });
    for (let tap = 0; tap < 5; tap += 1)
      expect(await vote(id, 'li.wei', 'approve')).toMatchObject({ kind: 'repeated' });
    expect(await core.service.get(id)).toMatchObject({
      status: 'pending',
      votes: [{ person: { id: 'li.wei' } }],
    });
    expect(await vote(id, 'wang.fang', 'approve')).toMatchObject({
      closed: true,
      request: { status: 'approved' },
    });
  });

  it('close with any rejection, also by somebody who approved before', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    const id = await core.pending();
    await vote(id, 'li.wei', 'approve');
    const outcome = await vote(id, 'li.wei', 'reject', { reason: 'wrong payee' });
    expect(outcome).toMatchObject({
      request: { status: 'rejected', decision: { reason: 'wrong payee', code: 'rejected' } },
    });
    expect(await vote(id, 'li.wei', 'approve')).toMatchObject({ kind: 'already-decided' });
    expect(await vote(id, 'li.wei', 'reject')).toMatchObject({ kind: 'repeated' });
    expect(await vote(id, 'wang.fang', 'approve')).toMatchObject({
      kind: 'already-decided',
      request: { decision: { by: { id: 'li.wei' } } },
    });
  });

  it('are refused to everybody who may not vote, and each attempt is on the record', async () => {
    const id = await core.pending();
    core.inactive.add('chen.jie');
    expect(await vote(id, 'somebody', 'approve')).toMatchObject({ kind: 'refused', code: 'not_an_approver' });
    expect(await vote(id, 'owner', 'approve')).toMatchObject({ kind: 'refused', code: 'not_an_approver' });
    expect(await vote(id, 'chen.jie', 'approve')).toMatchObject({ kind: 'refused', code: 'inactive_person' });
    expect(await vote(id, 'zhao.min', 'approve')).toMatchObject({ kind: 'refused', code: 'self_approval' });
    expect(await vote(id, 'li.wei', 'approve', { argsDigest: 'sha256:other' })).toMatchObject({
      kind: 'refused',
      code: 'args_changed',
    });
    expect(await core.service.get(id)).toMatchObject({ status: 'pending', votes: [] });
    expect(await events(id)).toEqual([
      'confirmation.requested',
      'vote.refused:not_an_approver',
      'vote.refused:not_an_approver',
      'vote.refused:inactive_person',
      'vote.refused:self_approval',
      'vote.refused:args_changed',
    ]);
  });

  it('let the requester reject their own request where they are an approver', async () => {
    const id = await core.pending();
    expect(await vote(id, 'zhao.min', 'reject')).toMatchObject({ request: { status: 'rejected' } });
  });

  it('allow self-approval only where the policy says so', async () => {
    core.policy = { ...POLICY, allowSelfApproval: true };
    const id = await core.pending();
    expect(await vote(id, 'zhao.min', 'approve')).toMatchObject({ request: { status: 'approved' } });
  });

  it('do not count a voter who has become inactive before the quorum closed', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    const id = await core.pending();
    await vote(id, 'li.wei', 'approve');
    core.inactive.add('li.wei');
    expect(await vote(id, 'wang.fang', 'approve')).toMatchObject({
      closed: false,
      request: { status: 'pending' },
    });
    expect(await vote(id, 'chen.jie', 'approve')).toMatchObject({
      closed: true,
      request: { status: 'approved' },
    });
  });

  it('ask for a reason where the policy wants one', async () => {
    core.policy = { ...POLICY, reason: 'on-reject' };
    const id = await core.pending();
    expect(await vote(id, 'li.wei', 'reject', { reason: '  ' })).toMatchObject({ kind: 'reason-required' });
    expect(await core.service.get(id)).toMatchObject({ status: 'pending' });
    expect(await vote(id, 'li.wei', 'reject', { reason: 'too much' })).toMatchObject({
      request: { status: 'rejected' },
    });
  });

  it('that come after the deadline close the request as expired', async () => {
    const id = await core.pending();
    await pastDeadline(id);
    expect(await vote(id, 'li.wei', 'approve')).toMatchObject({
      kind: 'expired',
      request: { status: 'expired' },
    });
    expect(await vote(id, 'li.wei', 'approve')).toMatchObject({ kind: 'expired' });
    expect(await events(id)).toEqual([
      'confirmation.requested',
      'confirmation.decided:expired',
      'vote.refused:expired',
    ]);
  });

  it('release whoever waits, with the winner', async () => {
    const id = await core.pending();
    const waiting = core.service.wait({ id, timeoutMs: 10_000, signal: new AbortController().signal });
    await until(() => core.waiter.size === 1);
    await vote(id, 'li.wei', 'approve');
    expect(await waiting).toMatchObject({ status: 'approved', decision: { by: { id: 'li.wei' } } });
    expect(core.waiter.size).toBe(0);
  });

  it('are made by the sweeper for what time has overtaken', async () => {
    const id = await core.pending();
    await pastDeadline(id);
    await core.sweeper.sweep();
    expect(await core.service.get(id)).toMatchObject({
      status: 'expired',
      decision: { by: null, code: 'expired' },
    });
  });

  it('are not taken for a cancelled request, and cancelling twice changes nothing', async () => {
    const id = await core.pending();
    const actor = { type: 'key', id: 'procurement', agent: null } as const;
    expect(await core.service.cancel({ id, actor, reason: null })).toMatchObject({ kind: 'cancelled' });
    expect(await core.service.cancel({ id, actor, reason: null })).toMatchObject({ kind: 'cancelled' });
    expect(await vote(id, 'li.wei', 'approve')).toMatchObject({
      kind: 'already-decided',
      request: { status: 'cancelled' },
    });
    expect(await events(id)).toEqual([
      'confirmation.requested',
      'confirmation.decided:cancelled',
      'vote.refused:already_decided',
    ]);
  });

  it('are impossible where too few people could make them', async () => {
    core.policy = { ...POLICY, approvers: [person('zhao.min')] };
    const answer = await core.ask({ amount: '1' });
    expect(answer).toMatchObject({ kind: 'denied', code: 'undeliverable' });
    if (answer.kind !== 'denied' || answer.confirmationId === null)
      throw new Error('expected a stored request');
    expect(await core.service.get(answer.confirmationId)).toMatchObject({ status: 'undeliverable' });
  });

  it('leave a row that the database itself refuses to rewrite', async () => {
    const id = await core.pending();
    await vote(id, 'li.wei', 'approve');
    const attempt = (statement: string) =>
      database.connection.execute(sql.raw(statement.replace('$id', `'${id}'`)));
    const cause = {
      cause: expect.objectContaining({ message: expect.stringMatching(/cannot|final|never/) }),
    };
    await expect(
      attempt(`update confirmations set status = 'rejected' where id = $id`),
    ).rejects.toMatchObject(cause);
    await expect(attempt(`update confirmations set args = '{}' where id = $id`)).rejects.toMatchObject(cause);
    await expect(
      attempt(`update confirmations set execution_status = 'succeeded' where id = $id`),
    ).rejects.toThrow();
    await expect(
      attempt(`update confirmations set decided_by_id = 'x' where id = $id`),
    ).rejects.toMatchObject(cause);
    await expect(attempt(`delete from confirmations where id = $id`)).rejects.toMatchObject(cause);
  });

  it('keep arguments as a JSON object with the text they came with', async () => {
    const id = await core.pending({
      amount: '68000.00',
      n: 0.1,
      nested: { list: ['true', true, null, '007'] },
    });
    const list = await rowsOf(
      database.connection,
      sql`select jsonb_typeof(args) as kind, args ->> 'amount' as amount from confirmations where id = ${id}`,
    );
    expect(list[0]).toEqual({ kind: 'object', amount: '68000.00' });
    expect((await core.service.get(id))?.args).toEqual({
      amount: '68000.00',
      n: 0.1,
      nested: { list: ['true', true, null, '007'] },
    });
  });
});
