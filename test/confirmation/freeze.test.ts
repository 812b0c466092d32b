import { asc, eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Actor } from '../../src/confirmation/confirmation-service.ts';
import { createCardSource } from '../../src/confirmation/create-card-source.ts';
import { FreezeCards } from '../../src/confirmation/freeze-cards.ts';
import type { Database } from '../../src/db/database.ts';
import { createFreezeCardStore } from '../../src/db/freeze-card-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { agentId, type ConfirmationId } from '../../src/ids.ts';
import { type CallChanges, type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES, openPostgres } from '../support/databases.ts';
import { race } from '../support/races.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const KEY: Actor = { type: 'key', id: 'procurement', agent: agentId('procurement') };
const LI = { id: person('li.wei'), name: '李伟' };
const WANG = { id: person('wang.fang'), name: '王芳' };
const mayStill = () => true;

const approved = async (core: Core, changes?: CallChanges): Promise<ConfirmationId> => {
  const id = await core.pending(ARGS, changes);
  await core.service.decide({
    id,
    person: LI.id,
    verdict: 'approve',
    reason: null,
    argsDigest: null,
    surface: { kind: 'api' },
  });
  return id;
};
const claim = (core: Core, id: ConfirmationId) => core.service.claim({ id, args: ARGS, actor: KEY });
const freeze = (core: Core, ...tools: string[]) =>
  core.freezes.start({ tools, reason: 'account taken over', by: LI });
const thawAll = async (core: Core) => {
  for (const { id } of await core.freezes.active()) {
    await core.freezes.end({ id, by: LI, mayStill });
    await core.freezes.end({ id, by: WANG, mayStill });
  }
};

describe.each(DATABASES)('a freeze on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(async () => {
    core.policy = POLICY;
    core.match = null;
    await thawAll(core);
    await core.freezeCards.refresh();
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const events = (kind: string) =>
    database.connection
      .select({ actor: auditEvents.actorId, data: auditEvents.data })
      .from(auditEvents)
      .where(eq(auditEvents.kind, kind as typeof auditEvents.$inferSelect.kind))
      .orderBy(asc(auditEvents.insertOrder));
  const versionOf = async (id: ConfirmationId) => (await core.service.get(id))?.version ?? 0;

  it('revokes the grant of whoever tries to claim, and only of what it matches', async () => {
    const stopped = await approved(core);
    const free = await approved(core, { toolName: 'oa__read' });
    await freeze(core, 'bank__*');
    expect(await claim(core, stopped)).toMatchObject({
      kind: 'refused',
      code: 'revoked',
      detail: 'frozen',
      request: { execution: { status: 'revoked', detail: 'frozen', by: null } },
    });
    expect(await claim(core, free)).toMatchObject({ kind: 'claimed' });
    await thawAll(core);
    expect(await claim(core, stopped)).toMatchObject({ kind: 'refused', code: 'revoked' });
  });

  it('of everything matches every tool', async () => {
    const id = await approved(core, { toolName: 'call_agent' });
    await freeze(core, '*');
    expect(await claim(core, id)).toMatchObject({ detail: 'frozen' });
  });

  it('leaves an approval that is not claimed meanwhile as it is', async () => {
    const id = await approved(core);
    await freeze(core, '*');
    await thawAll(core);
    expect(await claim(core, id)).toMatchObject({ kind: 'claimed' });
  });

  it('denies calls that need no confirmation, and still asks people about those that do', async () => {
    core.match = () => ({ kind: 'none' });
    expect(await core.ask(ARGS)).toEqual({ kind: 'not-needed' });
    await freeze(core, 'bank__*');
    expect(await core.ask(ARGS)).toMatchObject({ kind: 'denied', code: 'frozen', confirmationId: null });
    expect(await core.ask(ARGS, { toolName: 'oa__read' })).toEqual({ kind: 'not-needed' });
    core.match = null;
    expect(await core.ask(ARGS)).toMatchObject({ kind: 'pending' });
  });

  it('and read-only together deny a writing call before anybody is asked', async () => {
    await freeze(core, 'bank__*');
    await database.connection.execute(sql`update gate_controls set read_only_organization = true`);
    try {
      expect(await core.ask(ARGS)).toMatchObject({ kind: 'denied', code: 'read_only' });
      core.match = () => ({ kind: 'none' });
      expect(await core.ask(ARGS, { toolName: 'oa__pay' })).toMatchObject({ code: 'read_only' });
      expect(await core.ask(ARGS, { toolName: 'oa__read', metadata: { writes: false } })).toEqual({
        kind: 'not-needed',
      });
    } finally {
      await database.connection.execute(sql`update gate_controls set read_only_organization = false`);
    }
  });

  it('that cannot be read lets nothing through', async () => {
    core.match = () => ({ kind: 'none' });
    await database.connection.execute(sql`alter table gate_controls rename to gate_controls_away`);
    try {
      await expect(core.ask(ARGS)).rejects.toThrow();
    } finally {
      await database.connection.execute(sql`alter table gate_controls_away rename to gate_controls`);
    }
  });

  it('is ended by two people, and by one person never', async () => {
    const { id } = await freeze(core, 'bank__*');
    const first = await core.freezes.end({ id, by: LI, mayStill });
    expect(first).toMatchObject({ kind: 'requested', freeze: { endRequested: { by: { id: 'li.wei' } } } });
    expect(await core.freezes.end({ id, by: LI, mayStill })).toEqual(first);
    expect(await core.freezes.active()).toHaveLength(1);
    expect(await claim(core, await approved(core))).toMatchObject({ detail: 'frozen' });
    expect(await core.freezes.end({ id, by: WANG, mayStill })).toMatchObject({
      kind: 'ended',
      freeze: { endRequested: { by: { id: 'li.wei' } }, ended: { by: { id: 'wang.fang' } } },
    });
    expect(await core.freezes.end({ id, by: LI, mayStill })).toMatchObject({
      kind: 'ended',
      freeze: { ended: { by: { id: 'wang.fang' } } },
    });
    expect(await core.freezes.active()).toEqual([]);
    expect(await claim(core, await approved(core))).toMatchObject({ kind: 'claimed' });
  });

  it('does not count the request of somebody who may not unfreeze any more', async () => {
    const { id } = await freeze(core, 'bank__*');
    await core.freezes.end({ id, by: LI, mayStill });
    expect(await core.freezes.end({ id, by: WANG, mayStill: (who) => who !== 'li.wei' })).toMatchObject({
      kind: 'requested',
      freeze: { endRequested: { by: { id: 'wang.fang' } }, ended: null },
    });
    expect(await core.freezes.active()).toHaveLength(1);
  });

  it('goes on for what another one still covers', async () => {
    const wide = await freeze(core, '*');
    await freeze(core, 'bank__transfer');
    await core.freezes.end({ id: wide.id, by: LI, mayStill });
    await core.freezes.end({ id: wide.id, by: WANG, mayStill });
    expect(await claim(core, await approved(core))).toMatchObject({ detail: 'frozen' });
    expect(await claim(core, await approved(core, { toolName: 'oa__read' }))).toMatchObject({
      kind: 'claimed',
    });
  });

  it('is on the record when it begins, when its end is asked for, and when it ends', async () => {
    const { id } = await freeze(core, 'bank__*', 'oa__*');
    await thawAll(core);
    const data = { freeze: id, tools: ['bank__*', 'oa__*'], reason: 'account taken over' };
    expect((await events('freeze.started')).at(-1)).toEqual({ actor: 'li.wei', data });
    expect((await events('freeze.end_requested')).at(-1)).toEqual({ actor: 'li.wei', data });
    expect((await events('freeze.ended')).at(-1)).toEqual({
      actor: 'wang.fang',
      data: { ...data, requestedBy: 'li.wei' },
    });
  });

  it('lets its row be rewritten by nobody, and never be ended by one person', async () => {
    const { id } = await freeze(core, 'bank__*');
    const run = (statement: string) =>
      database.connection.execute(sql.raw(`${statement} where id = '${id}'`));
    await expect(run('delete from freezes')).rejects.toThrow();
    await expect(run(`update freezes set tools = '{x}'`)).rejects.toThrow();
    await expect(
      run(`update freezes set end_requested_at = now(), end_requested_by_id = 'a', end_requested_by_name = 'A',
           ended_at = now(), ended_by_id = 'a', ended_by_name = 'A'`),
    ).rejects.toThrow();
    await expect(
      run(`update freezes set ended_at = now(), ended_by_id = 'a', ended_by_name = 'A'`),
    ).rejects.toThrow();
    await thawAll(core);
    await expect(
      run('update freezes set ended_at = null, ended_by_id = null, ended_by_name = null'),
    ).rejects.toThrow();
  });

  it('asks for new cards of the open requests it matches, when it begins and when it ends', async () => {
    const open = await core.pending(ARGS);
    const unused = await approved(core);
    const other = await core.pending(ARGS, { toolName: 'bankXtransfer' });
    const used = await approved(core);
    await claim(core, used);
    const ids = [open, unused, other, used];
    const before = await Promise.all(ids.map(versionOf));

    await freeze(core, 'bank_*');
    expect(await core.freezeCards.refresh()).toBe(1);
    expect(await core.freezeCards.refresh()).toBe(0);
    const moved = async () => {
      const now = await Promise.all(ids.map(versionOf));
      return now.map((version, index) => version - (before[index] ?? 0));
    };
    expect(await moved()).toEqual([1, 1, 0, 0]);
    await thawAll(core);
    await core.freezeCards.refresh();
    expect(await moved()).toEqual([2, 2, 0, 0]);
  });

  it('reaches every open request, however many batches that takes', async () => {
    const ids: ConfirmationId[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(await core.pending(ARGS, { toolName: 'many__pay' }));
    const inTwos = new FreezeCards({
      port: createFreezeCardStore(database, 2),
      clock: systemClock,
      onFailed: () => {},
    });
    await freeze(core, 'many__*');
    await inTwos.refresh();
    expect(await Promise.all(ids.map(versionOf))).toEqual(ids.map(() => 2));
  });

  it('is said by the cards of old and new requests alike, while it lasts', async () => {
    const cards = createCardSource({
      confirmations: core.service,
      freezes: core.freezes,
      timeZone: 'Asia/Shanghai',
      publicUrl: 'https://gate.acme.example',
    });
    const warnings = async (confirmationId: ConfirmationId) =>
      (await cards.read({ confirmationId, locale: 'en-US', view: 'whole', moved: false }))?.warnings.join();
    const old = await core.pending(ARGS);
    expect(await warnings(old)).not.toContain('frozen');
    await freeze(core, 'bank__*');
    const fresh = await core.pending(ARGS);
    for (const id of [old, fresh])
      expect(await warnings(id)).toMatch(/frozen: “account taken over” \(李伟, since /);
    await core.service.cancel({ id: fresh, actor: KEY, reason: null });
    expect(await warnings(fresh)).not.toContain('frozen');
    await thawAll(core);
    expect(await warnings(old)).not.toContain('frozen');
  });
});

describe('races about a freeze, on PostgreSQL', () => {
  let database: Database;
  let core: Core;
  beforeAll(async () => {
    database = await openPostgres();
    core = startCore(database);
  });
  beforeEach(() => thawAll(core));
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  it('is acknowledged under a steady stream of claims that overlap', async () => {
    let streaming = true;
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const held = async (_: unknown, index: number) => {
      await pause(index * 25);
      while (streaming) {
        await core.ledger.transact(async (transaction) => {
          await transaction.lockControls();
          await pause(150);
        });
      }
    };
    const streams = Array.from({ length: 6 }, held);
    await pause(400);
    const startedAt = performance.now();
    try {
      await freeze(core, 'bank__*');
    } finally {
      streaming = false;
      await Promise.all(streams);
    }
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });

  it('no claim commits after a freeze was acknowledged', async () => {
    const rounds = 15;
    const grantsAtOnce = 4;
    let claimed = 0;
    let refused = 0;
    for (let round = 0; round < rounds; round += 1) {
      const ids = await Promise.all(Array.from({ length: grantsAtOnce }, () => approved(core)));
      const claims = ids.map((id) => claim(core, id));
      const frozen = await freeze(core, 'bank__*');
      // The freeze is acknowledged here: whatever is claimed now was claimed in a transaction before it.
      const outcomes = await Promise.all([...claims, ...ids.slice(0, 2).map((id) => claim(core, id))]);
      for (const outcome of outcomes) {
        if (outcome.kind !== 'claimed') {
          refused += 1;
          continue;
        }
        claimed += 1;
        const { execution } = outcome.request as Extract<typeof outcome.request, { status: 'approved' }>;
        if (execution.status !== 'claimed') throw new Error('a claim that is none');
        expect(execution.at.getTime()).toBeLessThanOrEqual(frozen.startedAt.getTime());
      }
      await thawAll(core);
    }
    // Both ends really happened, or nothing was shown.
    expect(claimed).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(0);
  });

  it('two requests to end it at the same instant: by two people it ends, by one person it does not', async () => {
    const byTwo = await race(10, async () => {
      const { id } = await freeze(core, 'bank__*');
      return {
        one: () => core.freezes.end({ id, by: LI, mayStill }),
        other: () => core.freezes.end({ id, by: WANG, mayStill }),
      };
    });
    for (const pair of byTwo) expect(pair.map(({ kind }) => kind).sort()).toEqual(['ended', 'requested']);
    const byOne = await race(10, async () => {
      const { id } = await freeze(core, 'bank__*');
      const end = () => core.freezes.end({ id, by: LI, mayStill });
      return { one: end, other: end };
    });
    for (const pair of byOne) expect(pair.map(({ kind }) => kind)).toEqual(['requested', 'requested']);
    expect(await core.freezes.active()).toHaveLength(10);
    await thawAll(core);
  });

  it('a request that is stored while a freeze begins is marked too', async () => {
    const ends = await race(15, async () => ({
      one: () => core.pending(ARGS),
      other: () => freeze(core, 'bank__*'),
    }));
    await core.freezeCards.refresh();
    for (const [id, { startedAt }] of ends) {
      const request = await core.service.get(id);
      // Stored before a freeze, it has a version for it; stored after, its first card says so.
      if (request && request.createdAt < startedAt) expect(request.version).toBeGreaterThan(1);
    }
  });
});
