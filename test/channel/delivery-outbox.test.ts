import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Card } from '../../src/channel/card.ts';
import { cardDigest } from '../../src/channel/card-digest.ts';
import type { DeliveryOutbox, DueDelivery } from '../../src/channel/delivery-outbox.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { createDeliveryOutbox } from '../../src/db/delivery-outbox-store.ts';
import { deliveriesOf, readReached, wantVersion } from '../../src/db/delivery-store.ts';
import { migrate } from '../../src/db/migrate.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import { type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES, newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { slackLike, workerOn } from './delivery-harness.ts';

const SLACK = channelId('pay-slack');
const shown = (version: number, hasButtons = true) => ({
  version,
  digest: `sha256:${'0'.repeat(64)}`,
  hasButtons,
});

describe.each(DATABASES)('the delivery outbox on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let outbox: DeliveryOutbox;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
    outbox = createDeliveryOutbox(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });
  beforeEach(async () => {
    core.policy = POLICY;
    await database.connection.update(deliveries).set({ nextAttemptAt: sql`'infinity'`, leaseUntil: null });
  });

  const claim = (limit = 10, leaseMs = 30_000) =>
    outbox.claim({ channel: SLACK, sends: limit, changes: limit, leaseMs });
  const claimOne = async (): Promise<DueDelivery> => {
    const [due, ...others] = await claim();
    if (!due || others.length > 0) throw new Error('expected exactly one due delivery');
    return due;
  };
  const rowOf = async (id: ConfirmationId) => {
    const [row] = await database.connection
      .select()
      .from(deliveries)
      .where(eq(deliveries.confirmationId, id));
    if (!row) throw new Error('no delivery');
    return row;
  };

  it('gives every delivery a token of its own that nobody can guess', async () => {
    const tokens = await Promise.all([1, 2, 3].map(async () => (await rowOf(await core.pending())).token));
    expect(new Set(tokens).size).toBe(3);
    for (const token of tokens) expect(token).toMatch(/^[\w-]{22}$/);
  });

  it('leases a delivery to one at a time, until the lease is over', async () => {
    await core.pending();
    expect(await claim(10, 500)).toHaveLength(1);
    expect(await claim()).toEqual([]);
    const again = await until(async () => (await claim())[0]);
    expect(again).toMatchObject({ task: 'send', attempt: 2 });
  });

  it('hands out new cards and changes each in places of their own, and no more than asked for', async () => {
    const first = await core.pending();
    await outbox.record({
      due: await claimOne(),
      result: { kind: 'sent', messageId: 'm1', shown: shown(1) },
    });
    await core.pending();
    await core.pending();
    await core.service.decide({
      id: first,
      person: person('li.wei'),
      verdict: 'reject',
      reason: null,
      argsDigest: null,
      surface: { kind: 'api' },
    });
    expect((await claim(1)).map(({ task }) => task).sort()).toEqual(['send', 'update']);
  });

  it('hands out first the cards of closed requests that still have buttons', async () => {
    const cards: ConfirmationId[] = [];
    for (const message of ['m1', 'm2']) {
      cards.push(await core.pending());
      await outbox.record({
        due: await claimOne(),
        result: { kind: 'sent', messageId: message, shown: shown(1) },
      });
    }
    const [open, closed] = cards as [ConfirmationId, ConfirmationId];
    await database.transaction((inside) => wantVersion(inside, open, 2));
    await core.service.decide({
      id: closed,
      person: person('li.wei'),
      verdict: 'reject',
      reason: null,
      argsDigest: null,
      surface: { kind: 'api' },
    });
    const [decisive] = await claim(1);
    expect(decisive?.confirmationId).toBe(closed);
    if (!decisive) throw new Error('nothing claimed');
    await outbox.record({ due: decisive, result: { kind: 'updated', shown: shown(2, false) } });
    // Without buttons it is one change among others.
    await database.transaction((inside) => wantVersion(inside, closed, 3));
    expect((await claim(1))[0]?.confirmationId).toBe(open);
  });

  it('keeps a message id even where the lease was lost meanwhile, and lets nothing else be overwritten', async () => {
    const id = await core.pending();
    const [stalled] = await claim(1, 1);
    const taken = await until(async () => (await claim())[0]);
    if (!stalled) throw new Error('nothing claimed');
    const rendered = { payload: '{}', decisiveShown: true };
    const late = { due: stalled, card: {} as Card, rendered, digest: cardDigest(rendered) };
    expect(await outbox.keepRendered({ ...late, card: { actions: { kind: 'none' } } as Card })).toBe(false);
    await outbox.record({ due: stalled, result: { kind: 'gave-up', error: 'stalled', mayRecover: true } });
    expect(await rowOf(id)).toMatchObject({ state: 'uncertain', error: null });
    await outbox.record({ due: stalled, result: { kind: 'sent', messageId: 'm-late', shown: shown(1) } });
    await outbox.record({ due: taken, result: { kind: 'sent', messageId: 'm-taken', shown: shown(1) } });
    expect(await rowOf(id)).toMatchObject({
      state: 'sent',
      messageIds: ['m-late', 'm-taken'],
      unconfirmedSends: 0,
    });
  });

  it('gives a lease back as if nothing had been begun', async () => {
    const id = await core.pending();
    await outbox.release(await claimOne());
    expect(await rowOf(id)).toMatchObject({ state: 'queued', unconfirmedSends: 0, leaseUntil: null });
    expect(await claimOne()).toMatchObject({ attempt: 1 });
  });

  it('never goes back to an older version, in whatever order versions are asked for', async () => {
    const id = await core.pending();
    await database.transaction((inside) => wantVersion(inside, id, 3));
    await database.transaction((inside) => wantVersion(inside, id, 2));
    expect((await rowOf(id)).wantedVersion).toBe(3);
    await outbox.record({ due: await claimOne(), result: { kind: 'sent', messageId: 'm', shown: shown(2) } });
    const due = await claimOne();
    expect(due).toMatchObject({ task: 'update', messageIds: ['m'] });
    await outbox.record({ due, result: { kind: 'updated', shown: shown(3) } });
    expect(await claim()).toEqual([]);
  });

  it('tries a change again that was given up on, once there is something newer to show', async () => {
    const id = await core.pending();
    await outbox.record({ due: await claimOne(), result: { kind: 'sent', messageId: 'm', shown: shown(1) } });
    await database.transaction((inside) => wantVersion(inside, id, 2));
    await outbox.record({
      due: await claimOne(),
      result: { kind: 'gave-up', error: 'too_old', mayRecover: true },
    });
    expect(await claim()).toEqual([]);
    expect(await rowOf(id)).toMatchObject({ state: 'sent', error: 'too_old' });
    await database.transaction((inside) => wantVersion(inside, id, 3));
    expect(await claimOne()).toMatchObject({ task: 'update', failedAttempts: 0 });
  });

  it('does not sit out a failure when something newer was asked for during the try', async () => {
    const id = await core.pending();
    await outbox.record({ due: await claimOne(), result: { kind: 'sent', messageId: 'm', shown: shown(1) } });
    await database.transaction((inside) => wantVersion(inside, id, 2));
    const due = await claimOne();
    await database.transaction((inside) => wantVersion(inside, id, 3));
    await outbox.record({ due, result: { kind: 'gave-up', error: 'card_refused', mayRecover: true } });
    expect(await claimOne()).toMatchObject({ task: 'update', wantedVersion: 3 });
  });

  it('puts the first failure in a row and the last word on the record, not every one between', async () => {
    const id = await core.pending();
    for (let failure = 0; failure < 3; failure += 1) {
      await outbox.record({
        due: await claimOne(),
        result: { kind: 'retry', error: 'busy', retryInMs: 0 },
      });
    }
    await outbox.record({
      due: await claimOne(),
      result: { kind: 'gave-up', error: 'not_in_channel', mayRecover: true },
    });
    const events = await database.connection
      .select()
      .from(auditEvents)
      .where(eq(auditEvents.confirmationId, id))
      .orderBy(auditEvents.requestSeq);
    expect(events.slice(1).map(({ kind, data }) => [kind, data.error])).toEqual([
      ['card.failed', 'busy'],
      ['card.failed', 'not_in_channel'],
    ]);
    expect((await deliveriesOf(database.connection, [id])).get(id)).toMatchObject([
      { channel: 'pay-slack', state: 'failed', messageIds: [], error: 'not_in_channel' },
    ]);
  });

  it('takes whatever words a platform finds for its failure', async () => {
    const id = await core.pending();
    const error = `nul \0 half \uD800 ${'很'.repeat(5_000)}`;
    await outbox.record({ due: await claimOne(), result: { kind: 'retry', error, retryInMs: 60_000 } });
    expect((await rowOf(id)).error?.length).toBeLessThanOrEqual(540);
  });

  it('has reached nobody only while nothing was sent or may have been', async () => {
    const id = await core.pending();
    const reached = () => database.transaction((inside) => readReached(inside, id));
    expect(await reached()).toBe('not-yet');
    const due = await claimOne();
    expect(await reached()).toBe('perhaps');
    await outbox.record({ due, result: { kind: 'retry', error: 'busy', retryInMs: 0 } });
    expect(await reached()).toBe('not-yet');
    await outbox.record({
      due: await claimOne(),
      result: { kind: 'uncertain', error: 'timed_out', retryInMs: 0 },
    });
    expect(await reached()).toBe('perhaps');
  });
});

describe('two workers on one PostgreSQL', () => {
  it('never send a card twice between them', async () => {
    const url = await newPostgresDatabase();
    const databases = await Promise.all([connectPostgres({ url }), connectPostgres({ url })]);
    const [first, second] = databases;
    await migrate(first);
    const cores = [startCore(first), startCore(second)] as const;
    // One platform that both talk to.
    const slack = slackLike();
    const workers = [workerOn(first, cores[0], [slack]).worker, workerOn(second, cores[1], [slack]).worker];
    for (const worker of workers) worker.start();
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, index) => cores[index % 2 === 0 ? 0 : 1].pending()),
    );
    await until(() => slack.messages.length >= ids.length);
    await Promise.all(
      ids.map((id, index) =>
        cores[index % 2 === 0 ? 1 : 0].service.decide({
          id,
          person: person('wang.fang'),
          verdict: 'reject',
          reason: null,
          argsDigest: null,
          surface: { kind: 'api' },
        }),
      ),
    );
    await until(() => slack.messages.every(({ payload }) => payload.startsWith('["rejected"')), {
      deadlineMs: 20_000,
    });
    for (const worker of workers) await worker.stop();
    expect(slack.sends).toHaveLength(ids.length);
    expect(new Set(slack.sends.map(({ delivery }) => delivery)).size).toBe(ids.length);
    expect(slack.sends.every(({ attempt }) => attempt === 1)).toBe(true);
    for (const core of cores) core.stop();
    for (const database of databases) await database.close();
  });
});
