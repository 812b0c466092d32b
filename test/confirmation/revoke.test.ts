import { asc, eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Actor } from '../../src/confirmation/confirmation-service.ts';
import type { Database } from '../../src/db/database.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import { agentId, type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES, openPostgres } from '../support/databases.ts';
import { race } from '../support/races.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const KEY: Actor = { type: 'key', id: 'procurement', agent: agentId('procurement') };
const FIVE_MINUTES = 300_000;

const approve = async (core: Core, id: ConfirmationId) => {
  const surface = { kind: 'api' } as const;
  const input = { id, verdict: 'approve', reason: null, argsDigest: null, surface } as const;
  const outcome = await core.service.decide({ ...input, person: person('li.wei') });
  if (outcome.kind !== 'recorded' || !outcome.closed) throw new Error(`not approved: ${outcome.kind}`);
  return outcome.request;
};
const revoke = (core: Core, id: ConfirmationId, by = 'wang.fang', reason: string | null = null) =>
  core.service.revoke({ id, person: person(by), reason, surface: { kind: 'api' } });
const claim = (core: Core, id: ConfirmationId) => core.service.claim({ id, args: ARGS, actor: KEY });

describe.each(DATABASES)('an approval that cools off, on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(() => {
    core.inactive.clear();
    core.policy = { ...POLICY, coolOffMs: FIVE_MINUTES };
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const cooling = async () => {
    const id = await core.pending(ARGS);
    return { id, request: await approve(core, id) };
  };
  /** As if so many minutes had passed. */
  const pass = async (id: ConfirmationId, minutes: number) => {
    await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
    await database.connection.execute(
      sql`update confirmations set executable_from = executable_from - make_interval(mins => ${minutes}::int),
        execute_by = execute_by - make_interval(mins => ${minutes}::int) where id = ${id}`,
    );
    await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
  };
  const events = (id: ConfirmationId) =>
    database.connection
      .select({ kind: auditEvents.kind, actor: auditEvents.actorId, data: auditEvents.data })
      .from(auditEvents)
      .where(eq(auditEvents.confirmationId, id))
      .orderBy(asc(auditEvents.insertOrder));

  it('may run only after the cool-off, and from then on as long as the policy says', async () => {
    const { request } = await cooling();
    if (request.status !== 'approved' || request.execution.status !== 'unclaimed')
      throw new Error('no grant');
    const { executableFrom, executeBy, coolingOff } = request.execution;
    expect(executableFrom.getTime() - request.decision.at.getTime()).toBe(FIVE_MINUTES);
    expect(executeBy.getTime() - executableFrom.getTime()).toBe(POLICY.executeWithinMs);
    expect(coolingOff).toBe(true);
  });

  it('without one may run at once', async () => {
    core.policy = POLICY;
    const id = await core.pending(ARGS);
    expect(await approve(core, id)).toMatchObject({ execution: { status: 'unclaimed', coolingOff: false } });
    expect(await claim(core, id)).toMatchObject({ kind: 'claimed' });
  });

  it('is not claimed before, and says how long it is until then', async () => {
    const { id } = await cooling();
    const early = await claim(core, id);
    expect(early).toMatchObject({ kind: 'refused', code: 'not_yet_executable' });
    const left = early.kind === 'refused' ? early.retryAfterMs : null;
    expect(left).toBeGreaterThan(FIVE_MINUTES - 60_000);
    expect(left).toBeLessThanOrEqual(FIVE_MINUTES);
    await pass(id, 5);
    expect(await claim(core, id)).toMatchObject({ kind: 'claimed' });
  });

  it('asks for a new card once it is over, and only once', async () => {
    const { id, request } = await cooling();
    await core.sweeper.sweep();
    expect(await core.service.get(id)).toMatchObject({ version: request.version });
    await pass(id, 5);
    await core.sweeper.sweep();
    await core.sweeper.sweep();
    expect(await core.service.get(id)).toMatchObject({
      version: request.version + 1,
      execution: { status: 'unclaimed', coolingOff: false },
    });
    const [card] = await database.connection
      .select()
      .from(deliveries)
      .where(eq(deliveries.confirmationId, id));
    expect(card?.wantedVersion).toBe(request.version + 1);
  });

  it('is taken back by any approver, with a reason, and never runs', async () => {
    const { id } = await cooling();
    expect(await revoke(core, id, 'wang.fang', ' wrong account ')).toMatchObject({
      kind: 'revoked',
      request: {
        status: 'approved',
        execution: { status: 'revoked', detail: 'revoked', by: { id: 'wang.fang' }, reason: 'wrong account' },
      },
    });
    await pass(id, 5);
    expect(await claim(core, id)).toMatchObject({ kind: 'refused', code: 'revoked', detail: null });
    const last = (await events(id)).findLast(({ kind }) => kind === 'grant.revoked');
    expect(last).toMatchObject({
      actor: 'wang.fang',
      data: { detail: 'revoked', person: 'wang.fang', reason: 'wrong account', channel: 'api' },
    });
  });

  it('is taken back after it too, until somebody claims', async () => {
    const { id } = await cooling();
    await pass(id, 5);
    expect(await revoke(core, id)).toMatchObject({ kind: 'revoked' });
    const used = await cooling();
    await pass(used.id, 5);
    await claim(core, used.id);
    expect(await revoke(core, used.id)).toMatchObject({ kind: 'refused', code: 'already_claimed' });
    expect(await core.service.get(used.id)).toMatchObject({ execution: { status: 'claimed' } });
  });

  it('once revoked is revoked: the same again, by anybody, changes nothing', async () => {
    const { id } = await cooling();
    await revoke(core, id, 'wang.fang', 'first');
    const before = await events(id);
    expect(await revoke(core, id, 'wang.fang', 'again')).toMatchObject({ kind: 'repeated' });
    expect(await revoke(core, id, 'chen.jie')).toMatchObject({
      kind: 'repeated',
      request: { execution: { by: { id: 'wang.fang' }, reason: 'first' } },
    });
    expect(await events(id)).toEqual(before);
  });

  it.each([
    ['owner', 'not_an_approver'],
    ['nobody', 'not_an_approver'],
    ['wang.fang', 'inactive_person'],
  ])('is not taken back by %s (%s), and the attempt is on the record', async (by, code) => {
    const { id } = await cooling();
    if (code === 'inactive_person') core.inactive.add(by);
    expect(await revoke(core, id, by)).toMatchObject({ kind: 'refused', code });
    expect(await core.service.get(id)).toMatchObject({ execution: { status: 'unclaimed' } });
    expect((await events(id)).at(-1)).toMatchObject({
      kind: 'grant.refused',
      actor: by,
      data: { code, detail: 'revoke', person: by },
    });
  });

  it('is taken back by the requester too, where they are an approver: it only stops', async () => {
    const { id } = await cooling();
    expect(await revoke(core, id, 'zhao.min')).toMatchObject({ kind: 'revoked' });
  });

  it('cannot be taken back where there is none, or where it ran out', async () => {
    const pending = await core.pending(ARGS);
    expect(await revoke(core, pending)).toMatchObject({ kind: 'refused', code: 'not_approved' });
    const { id } = await cooling();
    await pass(id, 60);
    expect(await revoke(core, id)).toMatchObject({
      kind: 'refused',
      code: 'lapsed',
      request: { execution: { status: 'lapsed' } },
    });
    const unknown = '0198c0de-0000-7000-8000-000000000000' as ConfirmationId;
    expect(await revoke(core, unknown)).toEqual({ kind: 'not-found' });
  });

  it('withdrawn by who asked is revoked in their name, with what they said', async () => {
    const { id } = await cooling();
    const actor: Actor = { type: 'person', person: { id: person('zhao.min'), name: '赵敏' } };
    await core.service.cancel({ id, actor, reason: 'frozen' });
    expect(await core.service.get(id)).toMatchObject({
      status: 'approved',
      execution: { status: 'revoked', detail: 'cancelled', by: { id: 'zhao.min' }, reason: 'frozen' },
    });
  });

  it('lets a wait for its grant go as soon as it is revoked, and not before', async () => {
    const { id } = await cooling();
    const wait = core.service.wait({
      id,
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      until: 'grant-moved',
    });
    const early = await core.service.wait({
      id,
      timeoutMs: 30,
      signal: new AbortController().signal,
      until: 'grant-moved',
    });
    expect(early).toMatchObject({ execution: { status: 'unclaimed' } });
    await revoke(core, id);
    expect(await wait).toMatchObject({ execution: { status: 'revoked' } });
  });

  it('is revoked from the chat like from the API, under the channel’s name', async () => {
    const { id } = await cooling();
    const surface = { kind: 'channel', id: channelId('pay-slack') } as const;
    await core.service.revoke({ id, person: person('li.wei'), reason: null, surface });
    expect((await events(id)).at(-1)).toMatchObject({ data: { channel: 'pay-slack' } });
  });
});

describe('races about an approval, on PostgreSQL', () => {
  let database: Database;
  let core: Core;
  beforeAll(async () => {
    database = await openPostgres();
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const approved = async () => {
    const id = await core.pending(ARGS);
    await approve(core, id);
    return id;
  };

  it('revoke against claim: exactly one of the two happens', async () => {
    const seen: ConfirmationId[] = [];
    const ends = await race(30, async () => {
      const id = await approved();
      seen.push(id);
      return { one: () => claim(core, id), other: () => revoke(core, id) };
    });
    for (const [index, [claimed, revoked]] of ends.entries()) {
      expect([claimed.kind === 'claimed', revoked.kind === 'revoked'].filter(Boolean)).toHaveLength(1);
      const after = await core.service.get(seen[index] as ConfirmationId);
      const status = claimed.kind === 'claimed' ? 'claimed' : 'revoked';
      expect(after).toMatchObject({ execution: { status } });
    }
  });

  it('revoke against revoke: one does it, the other is told who did', async () => {
    const ends = await race(15, async () => {
      const id = await approved();
      return { one: () => revoke(core, id, 'li.wei'), other: () => revoke(core, id, 'wang.fang') };
    });
    for (const pair of ends) {
      expect(pair.map(({ kind }) => kind).sort()).toEqual(['repeated', 'revoked']);
      const [first, second] = pair.map((end) => (end.kind === 'not-found' ? null : end.request));
      expect(first).toEqual(second);
    }
  });

  it('cancel against claim: a withdrawn grant is never used after it was withdrawn', async () => {
    const ends = await race(30, async () => {
      const id = await approved();
      return {
        one: () => claim(core, id),
        other: () => core.service.cancel({ id, actor: KEY, reason: null }),
      };
    });
    for (const [claimed, cancelled] of ends) {
      expect([claimed.kind === 'claimed', cancelled.kind === 'cancelled'].filter(Boolean)).toHaveLength(1);
    }
  });
});
