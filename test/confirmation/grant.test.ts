import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Actor } from '../../src/confirmation/confirmation-service.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, type ConfirmationId, newRunId } from '../../src/ids.ts';
import { type CallChanges, type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const KEY: Actor = { type: 'key', id: 'procurement', agent: agentId('procurement') };

describe.each(DATABASES)('grants on $name', ({ open }) => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(async () => {
    core.policy = POLICY;
    core.versions.clear();
    await database.connection.execute(
      sql`update gate_controls set read_only_organization = false, read_only_connectors = '{}'`,
    );
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const approved = async (changes?: CallChanges): Promise<ConfirmationId> => {
    const id = await core.pending(ARGS, changes);
    await core.service.decide({
      id,
      person: person('li.wei'),
      verdict: 'approve',
      reason: null,
      argsDigest: null,
      surface: { kind: 'api' },
    });
    return id;
  };
  const claim = (id: ConfirmationId, args: Record<string, string | number> = ARGS, actor: Actor = KEY) =>
    core.service.claim({ id, args, actor });
  const report = (id: ConfirmationId, status: 'succeeded' | 'failed' | 'unknown', actor: Actor = KEY) =>
    core.service.recordOutcome({ id, status, detail: null, actor });
  const shift = async (id: ConfirmationId, columns: string[]) => {
    const set = columns.map((column) => `${column} = ${column} - interval '2 hours'`).join(', ');
    await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
    await database.connection.execute(sql.raw(`update confirmations set ${set} where id = '${id}'`));
    await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
  };

  it('are used once, whatever the order of the keys', async () => {
    const id = await approved();
    const outcome = await claim(id, { payee: 'Acme', currency: 'CNY', amount: '68000.00' });
    expect(outcome).toMatchObject({ kind: 'claimed', request: { execution: { status: 'claimed' } } });
    if (
      outcome.kind === 'claimed' &&
      outcome.request.status === 'approved' &&
      outcome.request.execution.status === 'claimed'
    ) {
      expect(outcome.sendBy.getTime() - outcome.request.execution.at.getTime()).toBe(10_000);
    }
    expect(await claim(id)).toMatchObject({ kind: 'refused', code: 'already_claimed' });
  });

  it('are used once by any number of executors at the same moment', async () => {
    const id = await approved();
    const outcomes = await Promise.all(Array.from({ length: 32 }, () => claim(id)));
    expect(outcomes.filter((outcome) => outcome.kind === 'claimed')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.kind !== 'claimed')
        expect(outcome).toMatchObject({ kind: 'refused', code: 'already_claimed' });
    }
  });

  it('do not exist before the approval', async () => {
    const id = await core.pending(ARGS);
    expect(await claim(id)).toMatchObject({ kind: 'refused', code: 'not_approved' });
    expect(await report(id, 'succeeded')).toMatchObject({ kind: 'refused', code: 'not_claimed' });
  });

  it('refuse any other arguments, and stay unused', async () => {
    const id = await approved();
    for (const args of [
      {},
      { ...ARGS, amount: '68000.0' },
      { ...ARGS, amount: 68000 },
      { ...ARGS, memo: '' },
    ]) {
      expect(await claim(id, args)).toMatchObject({ kind: 'refused', code: 'args_changed' });
    }
    expect(await claim(id)).toMatchObject({ kind: 'claimed' });
  });

  it('are void once the tool is another one', async () => {
    const id = await approved({ metadata: { toolVersion: 'v1' } });
    core.versions.set('bank__transfer', 'v2');
    expect(await claim(id)).toMatchObject({ kind: 'refused', code: 'revoked', detail: 'tool_changed' });
    core.versions.set('bank__transfer', 'v1');
    expect(await claim(id)).toMatchObject({ kind: 'refused', code: 'revoked' });
  });

  it('are void while writing is switched off, for the organization or the connector', async () => {
    const first = await approved();
    await database.connection.execute(sql`update gate_controls set read_only_organization = true`);
    expect(await claim(first)).toMatchObject({ code: 'revoked', detail: 'read_only' });
    const reading = await approved({ metadata: { writes: false } });
    expect(await claim(reading)).toMatchObject({ kind: 'claimed' });
    expect(await core.ask(ARGS)).toMatchObject({ kind: 'denied', code: 'read_only', confirmationId: null });
    await database.connection.execute(sql`update gate_controls set read_only_organization = false`);
    const second = await approved({ metadata: { connector: 'oa' } });
    await database.connection.execute(sql`update gate_controls set read_only_connectors = '{oa}'`);
    expect(await claim(second)).toMatchObject({ code: 'revoked', detail: 'read_only' });
  });

  it('lapse when nobody uses them in time', async () => {
    const late = await approved();
    await shift(late, ['execute_by', 'executable_from']);
    expect(await claim(late)).toMatchObject({ kind: 'refused', code: 'lapsed' });
    const swept = await approved();
    await shift(swept, ['execute_by', 'executable_from']);
    await core.sweeper.sweep();
    expect(await core.service.get(swept)).toMatchObject({
      status: 'approved',
      execution: { status: 'lapsed' },
    });
  });

  it('are revoked by a cancellation while unused, and not once claimed', async () => {
    const id = await approved();
    expect(await core.service.cancel({ id, actor: KEY, reason: null })).toMatchObject({
      kind: 'cancelled',
      request: { status: 'approved', execution: { status: 'revoked' } },
    });
    expect(await claim(id)).toMatchObject({ code: 'revoked' });
    const used = await approved();
    await claim(used);
    expect(await core.service.cancel({ id: used, actor: KEY, reason: null })).toMatchObject({
      kind: 'already-decided',
    });
  });

  it('of a run belong to that run alone', async () => {
    const run = newRunId();
    const id = await approved({ runId: run });
    expect(await claim(id)).toMatchObject({ code: 'grant_of_a_run' });
    const other: Actor = { type: 'run', run: newRunId(), agent: agentId('procurement') };
    expect(await claim(id, ARGS, other)).toMatchObject({ code: 'grant_of_a_run' });
    expect(await claim(id, ARGS, { ...other, run })).toMatchObject({ kind: 'claimed' });
    expect(await report(id, 'succeeded')).toMatchObject({ code: 'grant_of_a_run' });
    expect(await report(id, 'succeeded', { ...other, run })).toMatchObject({ kind: 'recorded' });
  });

  it('keep one outcome', async () => {
    const id = await approved();
    await claim(id);
    expect(await report(id, 'succeeded')).toMatchObject({ kind: 'recorded' });
    expect(await report(id, 'succeeded')).toMatchObject({ kind: 'recorded' });
    expect(await report(id, 'failed')).toMatchObject({ kind: 'refused', code: 'outcome_recorded' });
  });

  it('whose outcome nobody reports become unknown, and a person settles them', async () => {
    const id = await approved();
    await claim(id);
    await core.sweeper.sweep();
    expect(await core.service.get(id)).toMatchObject({ execution: { status: 'claimed' } });
    await shift(id, ['claimed_at', 'send_by']);
    await core.sweeper.sweep();
    expect(await core.service.get(id)).toMatchObject({ execution: { status: 'unknown', source: 'timeout' } });
    const settle = (by: string) =>
      core.service.settle({
        id,
        person: person(by),
        status: 'succeeded',
        detail: 'seen on the statement',
        surface: { kind: 'api' },
      });
    expect(await settle('somebody')).toMatchObject({ kind: 'refused', code: 'not_an_approver' });
    expect(await settle('zhao.min')).toMatchObject({ kind: 'refused', code: 'self_approval' });
    expect(await settle('wang.fang')).toMatchObject({
      kind: 'settled',
      request: { execution: { status: 'succeeded', source: 'settlement', detail: 'seen on the statement' } },
    });
    expect(await settle('wang.fang')).toMatchObject({ kind: 'refused', code: 'not_unknown' });
  });

  it('given up by time alone are ended after all by the run that knows better, and by nobody else', async () => {
    const run = newRunId();
    const executor: Actor = { type: 'run', run, agent: agentId('procurement') };
    const id = await approved({ runId: run });
    await claim(id, ARGS, executor);
    await shift(id, ['claimed_at', 'send_by']);
    await core.sweeper.sweep();
    expect(await core.service.get(id)).toMatchObject({ execution: { status: 'unknown', source: 'timeout' } });
    expect(await report(id, 'succeeded')).toMatchObject({ kind: 'refused', code: 'grant_of_a_run' });
    expect(await report(id, 'succeeded', executor)).toMatchObject({
      kind: 'recorded',
      request: { execution: { status: 'succeeded', source: 'executor' } },
    });
    expect(await report(id, 'failed', executor)).toMatchObject({ kind: 'refused', code: 'outcome_recorded' });
  });
});
