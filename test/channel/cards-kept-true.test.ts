import { eq, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryWorker } from '../../src/channel/delivery-worker.ts';
import type { Database } from '../../src/db/database.ts';
import { adoptMessage, deliveriesOf, findDeliveryByToken } from '../../src/db/delivery-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import { type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { hurriedClock, slackLike, workerOn } from './delivery-harness.ts';
import type { ScriptedChannel } from './scripted-channel.ts';

describe.each(DATABASES)('cards over days and outages on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let slack: ScriptedChannel;
  let worker: DeliveryWorker;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });
  beforeEach(() => {
    core.policy = { ...POLICY, quorum: 2, channels: [channelId('pay-slack')] };
    slack = slackLike();
    ({ worker } = workerOn(database, core, [slack]));
  });
  afterEach(async () => {
    await worker.stop();
    await database.connection
      .update(deliveries)
      .set({ nextAttemptAt: sql`'infinity'`, attempts: 1_000, issuedAt: sql`clock_timestamp()` });
  });

  /** A process that starts looks for what time has made due at once. */
  const restart = async () => {
    await worker.stop();
    ({ worker } = workerOn(database, core, [slack]));
    worker.start();
  };
  const vote = (id: ConfirmationId, verdict: 'approve' | 'reject') =>
    core.service.decide({
      id,
      person: person('li.wei'),
      verdict,
      reason: 'no',
      argsDigest: null,
      surface: { kind: 'api' },
    });
  const rowOf = async (id: ConfirmationId) => {
    const [row] = await database.connection
      .select()
      .from(deliveries)
      .where(eq(deliveries.confirmationId, id));
    if (!row) throw new Error('no delivery');
    return row;
  };
  const change = (id: ConfirmationId, set: PgUpdateSetSource<typeof deliveries>) =>
    database.connection.update(deliveries).set(set).where(eq(deliveries.confirmationId, id));
  const row = (id: ConfirmationId, expected: Partial<Awaited<ReturnType<typeof rowOf>>>) =>
    until(async () => {
      const now = await rowOf(id);
      return Object.entries(expected).every(
        ([key, value]) => JSON.stringify(now[key as keyof typeof now]) === JSON.stringify(value),
      );
    });
  const sentCard = async () => {
    const id = await core.pending();
    worker.start();
    await row(id, { state: 'sent', shownVersion: 1 });
    return id;
  };
  const shown = () => slack.messages.map(({ payload }) => JSON.parse(payload) as unknown[]);
  const daysAgo = (days: number) => sql`clock_timestamp() - make_interval(days => ${days})`;

  it('are re-issued before the platform stops changing them, the old one closed first', async () => {
    const id = await sentCard();
    const [old] = slack.messages;
    await change(id, { issuedAt: daysAgo(14) });
    await restart();
    await until(() => slack.messages.length === 2);
    await row(id, { state: 'sent', shownVersion: 1, reissue: false, retiredMessageIds: [old?.id ?? ''] });
    expect(shown()).toEqual([
      ['pending', 1, 'no buttons'],
      ['pending', 1, `buttons ${(await rowOf(id)).token}`],
    ]);
    const [record] = (await deliveriesOf(database.connection, [id])).get(id) ?? [];
    expect(record?.messageIds).toEqual(slack.messages.map((message) => message.id));
    const kinds = await database.connection
      .select({ kind: auditEvents.kind })
      .from(auditEvents)
      .where(eq(auditEvents.confirmationId, id))
      .orderBy(auditEvents.requestSeq);
    expect(kinds.map(({ kind }) => kind).slice(1)).toEqual([
      'card.delivered',
      'card.moved',
      'card.delivered',
    ]);

    await vote(id, 'reject');
    await row(id, { shownVersion: 2 });
    expect(shown()).toEqual([
      ['pending', 1, 'no buttons'],
      ['rejected', 2, 'no buttons'],
    ]);
  });

  it('never take an old message for the card again', async () => {
    const id = await sentCard();
    const old = slack.messages[0]?.id ?? '';
    await change(id, { issuedAt: daysAgo(14) });
    await restart();
    await row(id, { state: 'sent', reissue: false, retiredMessageIds: [old] });
    const { token } = await rowOf(id);
    const delivery = await findDeliveryByToken(database.connection, token);
    expect(delivery).toMatchObject({ retiredMessageIds: [old], messageIds: [slack.messages[1]?.id] });
    // As if the answer to the new send had been lost.
    await change(id, { unconfirmedSends: 1 });
    expect(
      await adoptMessage(database.connection, { delivery: (await rowOf(id)).id, chat: 'C0', messageId: old }),
    ).toBe(false);
  });

  it('stay where they are while they are young, and once nothing about them can change', async () => {
    const young = await sentCard();
    await change(young, { issuedAt: daysAgo(12) });
    const over = await core.pending();
    await row(over, { state: 'sent' });
    await vote(over, 'reject');
    await row(over, { shownVersion: 2 });
    await change(over, { issuedAt: daysAgo(30) });
    await restart();
    const next = await core.pending();
    await row(next, { state: 'sent' });
    expect([await rowOf(young), await rowOf(over)]).toMatchObject([
      { reissue: false, retiredMessageIds: [] },
      { reissue: false, retiredMessageIds: [] },
    ]);
  });

  it('that were closed to move, and whose request ends before, show how it ended', async () => {
    const id = await sentCard();
    await change(id, { issuedAt: daysAgo(14) });
    const refusals = Array.from(
      { length: 3 },
      () => ({ kind: 'retry', error: 'busy', retryAfterMs: null }) as const,
    );
    slack.sendSteps.push(...refusals);
    await restart();
    await until(async () => (await rowOf(id)).retiredMessageIds.length === 1);
    await vote(id, 'reject');
    await row(id, { state: 'sent', shownVersion: 2, retiredMessageIds: [] });
    expect(shown()).toEqual([['rejected', 2, 'no buttons']]);
  });

  it('that somebody deleted are posted anew while people are asked', async () => {
    const id = await sentCard();
    slack.messages.splice(0);
    await vote(id, 'approve');
    await until(() => slack.messages.length === 1);
    await row(id, { shownVersion: 2 });
    expect(shown()).toEqual([['pending', 2, expect.stringContaining('buttons ')]]);
  });

  it('that somebody deleted and that cannot be posted anew are asked about elsewhere, but are no undeliverable ones', async () => {
    const fallback = { channels: [channelId('pay-feishu')], afterMs: null };
    core.policy = { ...core.policy, fallback };
    const id = await sentCard();
    slack.messages.splice(0);
    slack.sendSteps.push({ kind: 'refused', error: 'not_in_channel' });
    await vote(id, 'approve');
    await until(async () => (await core.service.get(id))?.reroutedAt != null);
    const places = (await deliveriesOf(database.connection, [id])).get(id) ?? [];
    expect(places.map(({ channel, state }) => `${channel} ${state}`)).toEqual([
      'pay-slack failed',
      'pay-feishu queued',
    ]);
    expect((await core.service.get(id))?.status).toBe('pending');
  });

  it('are changed after all once the channel lets us, though no other card is sent there', async () => {
    const id = await sentCard();
    slack.updateSteps.push({ kind: 'refused', error: 'token_revoked' });
    await vote(id, 'reject');
    await until(async () => (await rowOf(id)).error === 'token_revoked');
    await restart();
    // Not at once: it was refused a moment ago.
    expect(slack.updates).toHaveLength(1);
    await change(id, { at: daysAgo(1) });
    await restart();
    await row(id, { shownVersion: 2, error: null });
    expect(shown()[0]).toEqual(['rejected', 2, 'no buttons']);
  });

  it('are written once more after an outage, which finds those that somebody deleted meanwhile', async () => {
    let passedMs = 0;
    const clock = { ...hurriedClock, monotonic: () => hurriedClock.monotonic() + passedMs };
    ({ worker } = workerOn(database, core, [slack], { clock }));
    const [kept, deleted] = [await sentCard(), await sentCard()];
    slack.updateSteps.push({ kind: 'retry', error: 'HTTP 503', retryAfterMs: null });
    await vote(kept, 'approve');
    await until(async () => (await rowOf(kept)).error === 'HTTP 503');
    const lost = (await rowOf(deleted)).messageIds[0];
    const place = slack.messages.findIndex(({ id }) => id === lost);
    slack.messages.splice(place, 1);
    passedMs = 61_000;
    await row(kept, { shownVersion: 2, error: null, settleAt: null });
    await row(deleted, { state: 'sent', shownVersion: 1, retiredMessageIds: [lost ?? ''] });
    const standing = slack.messages.map(({ id }) => id);
    expect(standing).toEqual(expect.arrayContaining((await rowOf(deleted)).messageIds));
    expect(standing).not.toContain(lost);
  });

  it('are not written once more because a card was not needed any more', async () => {
    const kept = await sentCard();
    await worker.stop();
    const over = await core.pending();
    await vote(over, 'reject');
    let passedMs = 0;
    const clock = { ...hurriedClock, monotonic: () => hurriedClock.monotonic() + passedMs };
    ({ worker } = workerOn(database, core, [slack], { clock }));
    worker.start();
    await row(over, { error: 'closed_before_sent' });
    passedMs = 61_000;
    // The second is sent after everything that follows from the first.
    for (const _ of ['first', 'second']) await row(await core.pending(), { state: 'sent' });
    expect(slack.updates).toEqual([]);
    expect(await rowOf(kept)).toMatchObject({ settleAt: null, shownVersion: 1 });
  });

  it('whose change nobody answered are written once more when nothing can be under way any longer', async () => {
    const id = await sentCard();
    slack.updateSteps.push('answer-lost');
    await vote(id, 'reject');
    await row(id, { shownVersion: 2 });
    expect((await rowOf(id)).settleAt).not.toBeNull();
    const before = slack.updates.length;
    // The change that had no answer arrives now, after the one that had.
    const [message] = slack.messages;
    if (message) message.payload = JSON.stringify(['pending', 1, 'buttons']);
    await change(id, { settleAt: daysAgo(0) });
    await row(id, { settleAt: null });
    expect(slack.updates.length).toBe(before + 1);
    expect(shown()).toEqual([['rejected', 2, 'no buttons']]);
  });

  it('show less and less while the platform refuses what they say, and say so', async () => {
    const refused = { kind: 'content-refused', error: '230028' } as const;
    slack.sendSteps.push(refused, refused);
    const id = await core.pending();
    worker.start();
    await row(id, { state: 'sent', cardView: 'withheld', decisiveShown: false, unconfirmedSends: 0 });
    expect(slack.sends.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    // What it is changed to begins where it was taken.
    await vote(id, 'reject');
    await row(id, { shownVersion: 2, cardView: 'withheld' });
  });

  it('end a request as undeliverable where even the least is refused', async () => {
    const refused = { kind: 'content-refused', error: '230028' } as const;
    slack.sendSteps.push(refused, refused, refused);
    const id = await core.pending();
    worker.start();
    await until(async () => (await core.service.get(id))?.status === 'undeliverable');
  });

  it('go out one by one at the pace of the chat, and changes do not wait for them', async () => {
    const first = await sentCard();
    slack.pace = { messages: { perSecond: 0.1, burst: 1 }, changes: { perSecond: 100, burst: 100 } };
    const sendTimes: number[] = [];
    const send = slack.send.bind(slack);
    slack.send = (delivery) => {
      sendTimes.push(hurriedClock.monotonic());
      return send(delivery);
    };
    await restart();
    const ids = [await core.pending(), await core.pending(), await core.pending()];
    await vote(first, 'reject');
    await row(first, { shownVersion: 2 });
    const changedAt = hurriedClock.monotonic();
    for (const id of ids) await row(id, { state: 'sent' });
    const gaps = sendTimes.slice(1).map((time, index) => time - (sendTimes[index] ?? 0));
    expect(gaps).toHaveLength(2);
    for (const gap of gaps) expect(gap).toBeGreaterThan(9_000);
    expect(changedAt).toBeLessThan(sendTimes[2] ?? 0);
  });

  it('all wait when the platform asks one of them to', async () => {
    const first = await sentCard();
    slack.sendSteps.push({ kind: 'retry', error: 'rate limited', retryAfterMs: 5_000 });
    const limited = await core.pending();
    await until(async () => (await rowOf(limited)).error === 'rate limited');
    const from = hurriedClock.monotonic();
    await vote(first, 'reject');
    const other = await core.pending();
    await row(first, { shownVersion: 2 });
    await row(other, { state: 'sent' });
    expect(hurriedClock.monotonic() - from).toBeGreaterThan(3_000);
  });
});
