import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sweeper } from '../../src/confirmation/sweeper.ts';
import { ConfirmationWaiter, POLL_INTERVAL_MS } from '../../src/confirmation/waiter.ts';
import { createConfirmationLedger } from '../../src/db/confirmation-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import { createDeliveryOutbox } from '../../src/db/delivery-outbox-store.ts';
import { agentId, type ConfirmationId } from '../../src/ids.ts';
import { workerOn } from '../channel/delivery-harness.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

/** As a newer version, or a hand in the database, may leave a row. */
describe('a row that cannot be read', () => {
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

  const damage = (id: ConfirmationId, change = sql`policy = '{}'`) =>
    database.transaction(async (inside) => {
      await inside.execute(sql`set local session_replication_role = replica`);
      await inside.execute(sql`update confirmations set ${change} where id = ${id}`);
    });
  const approve = (id: ConfirmationId) =>
    core.service.decide({
      ...{ id, person: person('li.wei'), verdict: 'approve', reason: null, argsDigest: null },
      surface: { kind: 'api' },
    });
  const noSignals = { subscribe: () => () => {}, onReconnect: () => () => {} };

  it('ends the wait for it, told once, and no other wait', async () => {
    const clock = new ManualClock();
    const failed: unknown[] = [];
    let reads = 0;
    const find = async (id: ConfirmationId) => {
      const request = await core.ledger.find(id);
      reads += 1;
      return request;
    };
    const waiter = new ConfirmationWaiter({
      ...{ ledger: { ...core.ledger, find }, signals: noSignals, clock },
      onPollFailed: (error) => failed.push(error),
    });
    waiter.start();
    const [damaged, whole] = [await core.pending(), await core.pending()];
    const signal = new AbortController().signal;
    const waits = [damaged, whole].map((id) =>
      waiter.wait({ id, timeoutMs: Number.POSITIVE_INFINITY, signal }).then(
        (request) => request?.status,
        (error: Error) => error.name,
      ),
    );
    const ended = Promise.all(waits);
    await until(() => reads === 2);
    await damage(damaged);
    await damage(damaged, sql`status = 'rejected', decided_at = now(), decision_code = 'rejected'`);
    await approve(whole);
    const found = await core.ledger.findClosed([damaged, whole]);
    expect([found.closed.map(({ id }) => id), found.unreadable.map(({ id }) => id)]).toEqual([
      [whole],
      [damaged],
    ]);
    await until(() => {
      clock.advance(POLL_INTERVAL_MS);
      return waiter.size === 0;
    });
    expect(await ended).toEqual(['UnreadableConfirmation', 'approved']);
    expect(failed).toHaveLength(1);
    waiter.stop();
    await expect(core.service.get(damaged)).rejects.toThrow(`confirmation ${damaged} cannot be read`);
  });

  it('is left out of lists, told once, and hides nothing behind it', async () => {
    const told: unknown[] = [];
    const ledger = createConfirmationLedger({
      database,
      onNotifyFailed: () => {},
      onUnreadable: (error) => told.push(error),
    });
    const older = await core.pending();
    const damaged = await core.pending();
    await damage(damaged);
    const newer = await core.pending();
    const first = await ledger.list({ limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual([newer]);
    const second = await ledger.list({ limit: 1, ...(first.nextCursor && { cursor: first.nextCursor }) });
    expect(second.items.map(({ id }) => id)).toEqual([older]);
    await ledger.list({ limit: 2 });
    expect(told).toEqual([expect.objectContaining({ id: damaged })]);
  });

  it('keeps no other from its deadline, and is told once', async () => {
    const failed: unknown[] = [];
    const sweeper = new Sweeper({
      ...{ ledger: core.ledger, reach: core.reach, clock: new ManualClock() },
      onFailed: (error) => failed.push(error),
    });
    core.policy = { ...POLICY, decideWithinMs: 1 };
    const [damaged, whole] = [await core.pending(), await core.pending()];
    core.policy = POLICY;
    await damage(damaged);
    await until(async () => {
      await sweeper.sweep();
      return (await core.service.get(whole))?.status === 'expired';
    });
    await sweeper.sweep();
    expect(failed).toEqual([expect.objectContaining({ id: damaged })]);
  });

  it('keeps no vote on another from being recorded', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => core.pending()));
    const [damaged] = ids;
    if (damaged !== undefined) await damage(damaged);
    const votes = await Promise.allSettled(ids.map(approve));
    expect(votes.map((vote) => (vote.status === 'fulfilled' ? vote.value.kind : 'failed'))).toEqual([
      'failed',
      ...Array.from({ length: 5 }, () => 'recorded'),
    ]);
  });

  it('keeps no other open that reached nobody', async () => {
    core.policy = { ...POLICY, deliveryTimeoutMs: 1 };
    const [damaged, whole] = [await core.pending(), await core.pending()];
    core.policy = POLICY;
    await damage(damaged, sql`approvers = '{}'`);
    const { worker } = workerOn(database, core, []);
    worker.start();
    await until(async () => (await core.service.get(whole))?.status === 'undeliverable');
    await worker.stop();
  });

  it('whose durations are no numbers spoils no look over all of them', async () => {
    const args = { amount: '1' };
    const [claimed, pending] = [await core.pending(args), await core.pending()];
    await approve(claimed);
    await core.service.claim({
      id: claimed,
      actor: { type: 'key', id: 'procurement', agent: agentId('procurement') },
      args,
    });
    const durations = '{"outcomeWithinMs": "soon", "deliveryTimeoutMs": [], "fallback": {"afterMs": "soon"}}';
    await damage(claimed, sql`policy = policy || ${durations}::jsonb, send_by = now() - interval '1 hour'`);
    await damage(pending, sql`policy = policy || ${durations}::jsonb`);
    expect((await core.ledger.due(100)).toUnknown).toEqual([]);
    const unreached = await createDeliveryOutbox(database).unreached();
    expect(unreached.map(({ confirmationId }) => confirmationId)).not.toContain(pending);
  });
});
