import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfirmationRequest } from '../../src/confirmation/confirmation-request.ts';
import type { Actor, Settlement } from '../../src/confirmation/confirmation-service.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, type ConfirmationId, newInvocationId, newRunId, type RunId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const TOOL = 'bank__transfer';

describe.each(DATABASES)('an unknown outcome on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let run: RunId;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(() => {
    core.policy = POLICY;
    core.match = null;
    core.versions.clear();
    core.inactive.clear();
    core.idempotent.add(TOOL);
    run = newRunId();
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const actor = (): Actor => ({ type: 'run', run, agent: agentId('procurement') });
  const get = async (id: ConfirmationId): Promise<ConfirmationRequest> => {
    const request = await core.service.get(id);
    if (!request) throw new Error(`no ${id}`);
    return request;
  };
  const vote = (id: ConfirmationId, verdict: 'approve' | 'reject', by = 'li.wei') =>
    core.service.decide({
      id,
      person: person(by),
      verdict,
      reason: null,
      argsDigest: null,
      surface: { kind: 'api' },
    });
  const claim = (id: ConfirmationId) => core.service.claim({ id, args: ARGS, actor: actor() });
  const report = (id: ConfirmationId, status: 'succeeded' | 'failed' | 'unknown') =>
    core.service.recordOutcome({ id, status, detail: null, actor: actor() });
  const settle = (
    id: ConfirmationId,
    status: Settlement,
    detail: string | null = 'looked it up',
    by = 'li.wei',
  ) => core.service.settle({ id, person: person(by), status, detail, surface: { kind: 'api' } });

  /** A call of a run that was approved, sent, and of which nobody knows what became; the old attempt is over. */
  async function unknown(): Promise<ConfirmationId> {
    const id = await core.pending(ARGS, { runId: run, metadata: { invocationId: newInvocationId() } });
    for (const by of ['li.wei', 'wang.fang'].slice(0, core.policy.quorum)) await vote(id, 'approve', by);
    await claim(id);
    await report(id, 'unknown');
    await endOldAttempt(database, id);
    return id;
  }
  async function askedAgain(id: ConfirmationId): Promise<ConfirmationRequest> {
    expect(await settle(id, 'run_again')).toMatchObject({ kind: 'settled' });
    return get((await get(id)).supersededBy as ConfirmationId);
  }
  const shift = async (id: ConfirmationId, columns: string[]) => {
    const set = columns.map((column) => `${column} = ${column} - interval '2 hours'`).join(', ');
    await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
    await database.connection.execute(sql.raw(`update confirmations set ${set} where id = '${id}'`));
    await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
  };

  it('asks for what was found only of those whose word would count', async () => {
    const id = await unknown();
    expect(await settle(id, 'succeeded', '  ')).toMatchObject({ kind: 'detail-required' });
    expect(await settle(id, 'succeeded', null, 'zhao.min')).toMatchObject({ code: 'self_approval' });
    expect(await settle(id, 'succeeded', null, 'owner')).toMatchObject({ code: 'not_an_approver' });
    expect(await settle(id, 'succeeded')).toMatchObject({
      kind: 'settled',
      request: { execution: { source: 'settlement', settledBy: { id: 'li.wei' } } },
    });
    expect(await settle(id, 'failed', 'no', 'wang.fang')).toMatchObject({ code: 'not_unknown' });
  });

  it.each([
    ['is rejected', (id: ConfirmationId) => vote(id, 'reject')],
    ['is withdrawn', (id: ConfirmationId) => core.service.cancel({ id, actor: actor(), reason: null })],
    [
      'expires',
      async (id: ConfirmationId) => {
        await shift(id, ['created_at', 'decide_by']);
        await core.sweeper.sweep();
      },
    ],
    [
      'is approved and not used in time',
      async (id: ConfirmationId) => {
        await vote(id, 'approve');
        await shift(id, ['execute_by', 'executable_from']);
        await core.sweeper.sweep();
      },
    ],
    [
      'is approved and revoked',
      async (id: ConfirmationId) => {
        await vote(id, 'approve');
        await core.service.revoke({
          id,
          person: person('wang.fang'),
          reason: null,
          surface: { kind: 'api' },
        });
      },
    ],
    [
      'finds the tool changed',
      async (id: ConfirmationId) => {
        await vote(id, 'approve');
        core.versions.set(TOOL, 'sha256:other');
        await claim(id);
        core.versions.clear();
      },
    ],
    [
      'was not sent, or failed',
      async (id: ConfirmationId) => {
        await vote(id, 'approve');
        await claim(id);
        await report(id, 'failed');
      },
    ],
  ])('is settled by people after all where running it again %s', async (_, end) => {
    const id = await unknown();
    const again = await askedAgain(id);
    expect(await settle(id, 'succeeded')).toMatchObject({ kind: 'refused', code: 'superseded' });
    await end(again.id);
    expect(await get(id)).toMatchObject({
      supersededBy: null,
      execution: { status: 'unknown', rerun: null, settleOpen: true },
    });
    expect((await askedAgain(id)).supersedes).toBe(id);
  });

  it('stays in the hands of a second attempt that ran', async () => {
    for (const status of ['succeeded', 'unknown'] as const) {
      const id = await unknown();
      const again = await askedAgain(id);
      await vote(again.id, 'approve');
      await claim(again.id);
      await report(again.id, status);
      expect(await settle(id, 'failed')).toMatchObject({ kind: 'refused', code: 'superseded' });
      expect(await get(id)).toMatchObject({ supersededBy: again.id, execution: { status: 'unknown' } });
    }
  });

  it('is asked about under the rule of today, and never under less than it was approved by', async () => {
    core.policy = { ...POLICY, quorum: 2, coolOffMs: 5_000, allowSelfApproval: false };
    const strict = await unknownCooled();
    core.policy = { ...POLICY, id: 'lenient', quorum: 1, allowSelfApproval: true };
    expect((await askedAgain(strict)).policy).toMatchObject({
      id: 'lenient',
      quorum: 2,
      coolOffMs: 5_000,
      allowSelfApproval: false,
    });
    core.policy = { ...POLICY, quorum: 1 };
    const lenient = await unknown();
    core.policy = { ...POLICY, quorum: 2 };
    expect((await askedAgain(lenient)).policy.quorum).toBe(2);
    core.policy = POLICY;
    const gated = await unknown();
    core.match = () => ({ kind: 'none' });
    expect((await askedAgain(gated)).policy).toMatchObject({ id: POLICY.id, quorum: 1 });
  });

  async function unknownCooled(): Promise<ConfirmationId> {
    const id = await core.pending(ARGS, { runId: run, metadata: { invocationId: newInvocationId() } });
    for (const by of ['li.wei', 'wang.fang']) await vote(id, 'approve', by);
    await shift(id, ['executable_from']);
    await claim(id);
    await report(id, 'unknown');
    await endOldAttempt(database, id);
    return id;
  }

  it('is as unknown as before where nobody could be asked to run it again, or no rule says who', async () => {
    const id = await unknown();
    core.policy = { ...POLICY, approvers: [person('zhao.min')] };
    expect(await settle(id, 'run_again')).toMatchObject({ kind: 'undeliverable' });
    core.match = () => ({ kind: 'failed', message: 'no', argument: null, policyId: 'x' });
    expect(await settle(id, 'run_again')).toMatchObject({ kind: 'refused', code: 'policy_error' });
    expect(await settle(id, 'failed')).toMatchObject({ kind: 'settled' });
  });

  it('runs again only as exactly the same call of a tool that was and is declared idempotent', async () => {
    const id = await unknown();
    core.versions.set(TOOL, 'sha256:other');
    expect(await settle(id, 'run_again')).toMatchObject({ code: 'not_repeatable' });
    core.versions.clear();
    core.idempotent.clear();
    expect(await settle(id, 'run_again')).toMatchObject({ code: 'not_repeatable' });
    const never = await unknown();
    core.idempotent.add(TOOL);
    expect(await settle(never, 'run_again')).toMatchObject({ code: 'not_repeatable' });
    expect(await settle(id, 'run_again')).toMatchObject({ kind: 'settled' });
  });

  it('of an outside agent is settled at once, and is the agent’s own to run again', async () => {
    const key: Actor = { type: 'key', id: 'procurement', agent: agentId('procurement') };
    const id = await core.pending(ARGS);
    await vote(id, 'approve');
    await core.service.claim({ id, args: ARGS, actor: key });
    await core.service.recordOutcome({ id, status: 'unknown', detail: 'connection lost', actor: key });
    expect(await get(id)).toMatchObject({ execution: { settleOpen: true } });
    expect(await settle(id, 'run_again')).toMatchObject({ code: 'not_repeatable' });
    expect(await settle(id, 'succeeded')).toMatchObject({ kind: 'settled' });
  });

  it('that time alone gave up is not told by the old executor any more once it is to run again', async () => {
    const id = await core.pending(ARGS, { runId: run, metadata: { invocationId: newInvocationId() } });
    await vote(id, 'approve');
    await claim(id);
    await shift(id, ['claimed_at', 'send_by']);
    await core.sweeper.sweep();
    expect(await get(id)).toMatchObject({ execution: { source: 'timeout', settleOpen: true } });
    await askedAgain(id);
    expect(await report(id, 'succeeded')).toMatchObject({ kind: 'refused', code: 'outcome_recorded' });
  });

  it('is held by the database against whatever code should try', async () => {
    const id = await unknown();
    const again = await askedAgain(id);
    const tried = (statement: string) => database.connection.execute(sql.raw(statement));
    const refused = {
      cause: { message: expect.stringMatching(/has taken its place|cannot take its place|cannot change/) },
    };
    await expect(
      tried(`update confirmations set execution_status = 'succeeded' where id = '${id}'`),
    ).rejects.toMatchObject(refused);
    await expect(
      tried(`update confirmations set supersedes = null where id = '${again.id}'`),
    ).rejects.toMatchObject(refused);
    await expect(
      tried(`update confirmations set superseded_by = '${id}' where id = '${again.id}'`),
    ).rejects.toMatchObject(refused);
  });
});
