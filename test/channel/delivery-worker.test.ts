import { eq, sql } from 'drizzle-orm';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryWorker } from '../../src/channel/delivery-worker.ts';
import { systemClock } from '../../src/clock.ts';
import type { DeliveryRecord } from '../../src/confirmation/delivery-record.ts';
import type { Database } from '../../src/db/database.ts';
import { adoptMessage, deliveriesOf, findDeliveryByToken } from '../../src/db/delivery-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { deliveries, renderedCards } from '../../src/db/schema/deliveries.ts';
import { type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { feishuLike, slackLike, workerOn } from './delivery-harness.ts';
import type { ScriptedChannel } from './scripted-channel.ts';

describe.each(DATABASES)('the delivery worker on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let slack: ScriptedChannel;
  let feishu: ScriptedChannel;
  let worker: DeliveryWorker;
  let counted: string[];
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => unhandled.push(error);

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
    process.on('unhandledRejection', onUnhandled);
  });
  afterAll(async () => {
    process.off('unhandledRejection', onUnhandled);
    core.stop();
    await database.close();
  });
  beforeEach(() => {
    core.policy = { ...POLICY, channels: [channelId('pay-slack'), channelId('pay-feishu')] };
    slack = slackLike();
    feishu = feishuLike();
    ({ worker, counted } = workerOn(database, core, [slack, feishu]));
  });
  afterEach(async () => {
    await worker.stop();
    expect(unhandled).toEqual([]);
    // What a test leaves open must not reach the channels of the next one.
    await database.connection.update(deliveries).set({ nextAttemptAt: sql`'infinity'`, leaseUntil: null });
  });

  /** Where a test holds a platform's answer back itself, the time-outs must not come first. */
  const unhurried = () => {
    ({ worker } = workerOn(database, core, [slack, feishu], { clock: systemClock }));
  };
  const onlySlack = () => {
    core.policy = { ...core.policy, channels: [channelId('pay-slack')] };
  };
  const records = async (id: ConfirmationId): Promise<readonly DeliveryRecord[]> =>
    (await deliveriesOf(database.connection, [id])).get(id) ?? [];
  const states = async (id: ConfirmationId) =>
    Object.fromEntries((await records(id)).map(({ channel, state, error }) => [channel, error ?? state]));
  const chat = (channel: ScriptedChannel): unknown[][] =>
    channel.messages.map(({ payload }) => JSON.parse(payload));
  const shows = (channel: ScriptedChannel, state: string) =>
    until(() => chat(channel).length > 0 && chat(channel).every((card) => card[0] === state), {
      what: `${channel.id} shows ${state}`,
    });
  const sent = (id: ConfirmationId) =>
    until(async () => (await records(id)).every(({ state }) => state === 'sent'), {
      what: 'every card sent',
    });
  const reject = (id: ConfirmationId) =>
    core.service.decide({
      id,
      person: person('li.wei'),
      verdict: 'reject',
      reason: 'no',
      argsDigest: null,
      surface: { kind: 'api' },
    });
  const auditKinds = async (id: ConfirmationId) =>
    (
      await database.connection
        .select({ kind: auditEvents.kind })
        .from(auditEvents)
        .where(eq(auditEvents.confirmationId, id))
        .orderBy(auditEvents.requestSeq)
    ).map(({ kind }) => kind);

  it('sends one card to each channel and keeps its message id, its picture and its event', async () => {
    const id = await core.pending();
    worker.start();
    await sent(id);
    expect(slack.sends.map(({ attempt }) => attempt)).toEqual([1]);
    expect(feishu.sends.map(({ attempt }) => attempt)).toEqual([1]);
    expect((await records(id)).map(({ messageIds }) => messageIds)).toEqual([
      feishu.messages.map((message) => message.id),
      slack.messages.map((message) => message.id),
    ]);
    const kept = await database.connection
      .select({
        payload: renderedCards.payload,
        digest: renderedCards.digest,
        version: renderedCards.version,
      })
      .from(renderedCards)
      .innerJoin(deliveries, eq(deliveries.id, renderedCards.deliveryId))
      .where(eq(deliveries.confirmationId, id));
    expect(kept.map(({ payload }) => payload).sort()).toEqual(
      [...slack.messages, ...feishu.messages].map(({ payload }) => payload).sort(),
    );
    expect(kept.every(({ digest, version }) => /^sha256:[0-9a-f]{64}$/.test(digest) && version === 1)).toBe(
      true,
    );
    expect(await auditKinds(id)).toEqual(['confirmation.requested', 'card.delivered', 'card.delivered']);
    expect(counted.sort()).toEqual(['pay-feishu sent', 'pay-slack sent']);
  });

  it('brings every card to its final state, whatever surface decided, and takes the buttons away', async () => {
    const id = await core.pending();
    worker.start();
    await sent(id);
    await reject(id);
    await shows(slack, 'rejected');
    await shows(feishu, 'rejected');
    expect(chat(slack)[0]?.[2]).toBe('no buttons');
    const cancelled = await core.pending();
    await until(() => slack.messages.length === 2 && feishu.messages.length === 2);
    await core.service.cancel({ id: cancelled, actor: { type: 'system' }, reason: null });
    await until(() => [slack, feishu].every((channel) => chat(channel)[1]?.[0] === 'cancelled'));
  });

  it('052: is not held up by a platform that hangs, and repeats the change until it is made', async () => {
    const id = await core.pending();
    worker.start();
    await sent(id);
    slack.updateSteps.push('hang', 'throw', { kind: 'retry', error: 'busy', retryAfterMs: 10 });
    await reject(id);
    await shows(feishu, 'rejected');
    expect(chat(slack)[0]?.[0]).toBe('pending');
    expect((await core.service.get(id))?.status).toBe('rejected');
    await shows(slack, 'rejected');
    expect(slack.updateSteps).toEqual([]);
    await until(async () => (await records(id)).every(({ error }) => error === null));
  });

  it('finds a message whose answer was lost instead of sending a second one, and brings it up to date', async () => {
    onlySlack();
    slack.sendSteps.push('answer-lost');
    const id = await core.pending();
    worker.start();
    await sent(id);
    expect(counted[0]).toBe('pay-slack uncertain');
    expect(slack.sends.map(({ attempt }) => attempt).slice(0, 2)).toEqual([1, 2]);
    expect(slack.messages).toHaveLength(1);
    await reject(id);
    await shows(slack, 'rejected');
  });

  it('ties a duplicate to its delivery by the first callback from it, and then closes both', async () => {
    onlySlack();
    slack.findsEarlier = false;
    slack.sendSteps.push('answer-lost');
    const id = await core.pending();
    worker.start();
    await sent(id);
    expect(slack.messages).toHaveLength(2);
    const [lost] = slack.messages;
    const delivery = await findDeliveryByToken(database.connection, slack.sends[0]?.token ?? '');
    if (!delivery || !lost) throw new Error('no delivery');
    expect(delivery.messageIds).not.toContain(lost.id);
    const tapped = { delivery: delivery.id, chat: 'C0' };
    expect(await adoptMessage(database.connection, { ...tapped, messageId: lost.id })).toBe(true);
    expect(await adoptMessage(database.connection, { ...tapped, messageId: 'another' })).toBe(false);
    await reject(id);
    await shows(slack, 'rejected');
    expect(chat(slack)).toHaveLength(2);
  });

  it('sends nothing for a request that closed before its card was sent', async () => {
    const id = await core.pending();
    await reject(id);
    worker.start();
    await until(async () => (await records(id)).every(({ state }) => state === 'failed'));
    expect(await states(id)).toEqual({
      'pay-slack': 'closed_before_sent',
      'pay-feishu': 'closed_before_sent',
    });
    expect(slack.sends).toEqual([]);
  });

  it('brings a card that may have arrived before the request closed to its final state', async () => {
    onlySlack();
    slack.sendSteps.push('answer-lost');
    const id = await core.pending();
    worker.start();
    await until(() => counted.includes('pay-slack uncertain'));
    await reject(id);
    await shows(slack, 'rejected');
    expect(slack.messages).toHaveLength(1);
  });

  it('closes a request as undeliverable at once when the only channel refuses for good', async () => {
    onlySlack();
    slack.sendSteps.push({ kind: 'refused', error: 'channel_not_found' });
    const id = await core.pending();
    worker.start();
    const closed = await core.service.wait({ id, timeoutMs: 5_000, signal: new AbortController().signal });
    expect(closed).toMatchObject({ status: 'undeliverable', decision: { reason: 'channels_refused' } });
    expect(await auditKinds(id)).toEqual(['confirmation.requested', 'card.failed', 'confirmation.decided']);
    expect(await states(id)).toEqual({ 'pay-slack': 'channel_not_found' });
  });

  it('leaves a request open while one of two channels has taken its card', async () => {
    slack.sendSteps.push({ kind: 'refused', error: 'token_revoked' });
    const id = await core.pending();
    worker.start();
    await until(async () => (await states(id))['pay-slack'] === 'token_revoked');
    await until(async () => (await states(id))['pay-feishu'] === 'sent');
    expect((await core.service.get(id))?.status).toBe('pending');
  });

  it('closes a request as undeliverable when no channel took the card in time', async () => {
    core.policy = { ...core.policy, channels: [channelId('pay-slack')], deliveryTimeoutMs: 300 };
    slack.sendSteps.push(
      ...Array.from({ length: 20 }, () => ({ kind: 'retry', error: 'busy', retryAfterMs: null }) as const),
    );
    const id = await core.pending();
    worker.start();
    const closed = await core.service.wait({ id, timeoutMs: 10_000, signal: new AbortController().signal });
    expect(closed).toMatchObject({ status: 'undeliverable', decision: { reason: 'delivery_timeout' } });
  });

  it('never calls a request undeliverable whose card may stand in the chat', async () => {
    core.policy = { ...core.policy, channels: [channelId('pay-slack')], deliveryTimeoutMs: 1 };
    slack.sendSteps.push('hang', { kind: 'refused', error: 'not_in_channel' });
    const id = await core.pending();
    worker.start();
    await until(async () => (await states(id))['pay-slack'] === 'not_in_channel');
    expect((await records(id))[0]?.state).toBe('uncertain');
    const { worker: another } = workerOn(database, core, []);
    another.start();
    await another.stop();
    expect((await core.service.get(id))?.status).toBe('pending');
  });

  it('ends on the newest version when the request moves on while a card is on its way', async () => {
    onlySlack();
    unhurried();
    let letGo = () => {};
    slack.sendSteps.push(
      new Promise((resolve) => {
        letGo = resolve;
      }),
    );
    const id = await core.pending();
    worker.start();
    await until(() => slack.sends.length === 1);
    await reject(id);
    letGo();
    await shows(slack, 'rejected');
    expect(slack.sends).toHaveLength(1);
  });

  it('survives a channel that throws and a card that cannot be drawn', async () => {
    // The next try is soon: what the first one left on the row may be gone before anybody looks.
    const notDelivered: string[] = [];
    const write = (line: string) => {
      const { channel, result, error } = JSON.parse(line);
      if (result !== undefined) notDelivered.push(`${channel} ${result} ${error}`);
    };
    ({ worker } = workerOn(database, core, [slack, feishu], { logger: pino({ level: 'warn' }, { write }) }));
    slack.renderFails = 1;
    feishu.sendSteps.push('throw');
    const id = await core.pending();
    worker.start();
    await sent(id);
    expect(notDelivered.sort()).toEqual([
      'pay-feishu uncertain channel_threw',
      'pay-slack retry card_not_drawn',
    ]);
    expect(slack.sends.map(({ attempt }) => attempt)).toEqual([1]);
    expect(feishu.sends.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('tries again as a possible duplicate where a process died while it was sending', async () => {
    onlySlack();
    const id = await core.pending();
    await database.connection.execute(
      sql`update deliveries set unconfirmed_sends = 1, lease_until = clock_timestamp() - interval '1 second'
          where confirmation_id = ${id}`,
    );
    worker.start();
    await sent(id);
    expect(slack.sends.map(({ attempt }) => attempt)).toEqual([2]);
  });

  it('remembers that a card could not show what decides', async () => {
    onlySlack();
    slack.decisiveShown = false;
    const id = await core.pending();
    worker.start();
    await sent(id);
    const token = slack.sends[0]?.token ?? '';
    expect((await findDeliveryByToken(database.connection, token))?.decisiveShown).toBe(false);
    await reject(id);
    await shows(slack, 'rejected');
    expect((await findDeliveryByToken(database.connection, token))?.decisiveShown).toBe(false);
  });

  it('lets a send in flight finish when it stops, and takes nothing new', async () => {
    onlySlack();
    unhurried();
    let letGo = () => {};
    slack.sendSteps.push(
      new Promise((resolve) => {
        letGo = resolve;
      }),
    );
    const id = await core.pending();
    worker.start();
    await until(() => slack.sends.length === 1);
    const stopped = worker.stop();
    const later = await core.pending();
    letGo();
    await stopped;
    expect((await records(id))[0]?.state).toBe('sent');
    expect((await records(later))[0]?.state).toBe('queued');
  });

  it('records as uncertain what a stop had to abort', async () => {
    onlySlack();
    slack.sendSteps.push('hang');
    const id = await core.pending();
    worker.start();
    await until(() => slack.sends.length === 1);
    await worker.stop();
    expect((await records(id))[0]).toMatchObject({ state: 'uncertain', error: 'service_stopped' });
  });
});
