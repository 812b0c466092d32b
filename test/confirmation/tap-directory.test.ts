import { eq } from 'drizzle-orm';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cardDigest } from '../../src/channel/card-digest.ts';
import type { CallbackReply, ChannelActor, TapEvent } from '../../src/channel/inbound-event.ts';
import { systemClock } from '../../src/clock.ts';
import type { PersonConfig } from '../../src/config/config.ts';
import { createTapHandler, type TapHandler } from '../../src/confirmation/handle-tap.ts';
import { NOTICES } from '../../src/confirmation/notices.ts';
import { createRoster } from '../../src/confirmation/roster.ts';
import type { Database } from '../../src/db/database.ts';
import { createTapDeliveries } from '../../src/db/delivery-store.ts';
import { createRefusalStore } from '../../src/db/refusal-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { deliveries, renderedCards } from '../../src/db/schema/deliveries.ts';
import { channelId } from '../../src/ids.ts';
import { hurriedClock, workerOn } from '../channel/delivery-harness.ts';
import { ScriptedChannel } from '../channel/scripted-channel.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A channel whose directory answers as a test says; the last answer stays. */
class DirectoryChannel extends ScriptedChannel {
  asked = 0;
  answers: (() => Promise<ChannelActor | null>)[] = [];

  constructor() {
    super(channelId('pay-feishu'), { provider: 'feishu', app: 'cli_0', tenant: 't0', chat: 'oc_0' });
  }

  async resolve(): Promise<ChannelActor | null> {
    this.asked += 1;
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (answer === undefined) throw new Error('the test gave no answer');
    return answer();
  }
}

const account = (id: string, ids: Readonly<Record<string, string>>): PersonConfig => ({
  id: person(id),
  name: id,
  active: true,
  groups: [],
  roles: [],
  consoleKey: null,
  away: null,
  identities: [{ provider: 'feishu', tenant: 't0', ids }],
});
/** Configured by a union id alone, a user id alone, an address alone; and one by what callbacks carry. */
const roster = createRoster([
  account('li.wei', { unionId: 'on_li' }),
  account('wang.fang', { userId: 'wang' }),
  account('chen.jie', { email: 'chen@acme.example' }),
  account('owner', { openId: 'ou_owner' }),
]);
const actor = (openId: string, more: Readonly<Record<string, string>> = {}): ChannelActor => ({
  provider: 'feishu',
  tenant: 't0',
  ids: { openId, ...more },
  isBot: false,
});

describe.each(DATABASES)('055: a tap of somebody known by other ids, on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let channel: DirectoryChannel;
  let clock: ManualClock;
  let handler: TapHandler;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });
  beforeEach(() => {
    core.policy = { ...POLICY, channels: [channelId('pay-feishu')], quorum: 2 };
    channel = new DirectoryChannel();
    clock = new ManualClock();
    handler = handlerOn(clock);
  });

  const handlerOn = (on: Parameters<typeof createTapHandler>[0]['clock']): TapHandler =>
    createTapHandler({
      confirmations: core.service,
      deliveries: createTapDeliveries(database),
      roster,
      refusals: createRefusalStore(database),
      clock: on,
      logger: pino({ level: 'silent' }),
      timeZone: 'Asia/Shanghai',
    });

  /** A pending request whose card a worker sent to the chat. */
  async function shown() {
    const id = await core.pending();
    const { worker } = workerOn(database, core, [channel]);
    worker.start();
    const row = async () =>
      (await database.connection.select().from(deliveries).where(eq(deliveries.confirmationId, id)))[0];
    await expect.poll(async () => (await row())?.state, { timeout: 10_000 }).toBe('sent');
    await worker.stop();
    const delivery = await row();
    if (!delivery) throw new Error('no delivery');
    const tap = (by: ChannelActor, changes: Partial<TapEvent> = {}): TapEvent => ({
      type: 'tap',
      actor: by,
      app: 'cli_0',
      tenant: 't0',
      chat: 'oc_0',
      messageId: delivery.messageIds[0] ?? '',
      confirmation: id,
      token: delivery.token,
      cardVersion: delivery.shownVersion,
      action: 'approve',
      reason: undefined,
      openedFor: null,
      eventId: null,
      handle: null,
      ...changes,
    });
    return { id, tap, delivery };
  }
  const votesOf = async (id: Parameters<Core['service']['get']>[0]) =>
    (await core.service.get(id))?.votes.map((vote) => vote.person.id);
  const eventsOf = (id: string) =>
    database.connection
      .select()
      .from(auditEvents)
      .where(eq(auditEvents.confirmationId, id))
      .orderBy(auditEvents.requestSeq);
  const lastCode = async (id: string) =>
    ((await eventsOf(id)).at(-1)?.data as { code?: string } | undefined)?.code;
  const noticeOf = (reply: CallbackReply) => (reply.kind === 'notice' ? reply.notice : null);

  it.each([
    ['a union id', 'li.wei', { unionId: 'on_li' }],
    ['a user id', 'wang.fang', { userId: 'wang' }],
    ['an address', 'chen.jie', { email: 'chen@acme.example' }],
  ])('is counted by %s that the directory adds', async (_, who, ids) => {
    const { id, tap } = await shown();
    channel.answers = [async () => actor('ou_1', ids)];
    await handler.handle(channel, tap(actor('ou_1')));
    expect(await votesOf(id)).toEqual([who]);
    expect(channel.asked).toBe(1);
  });

  it('asks the directory once for many taps, and again after ten minutes', async () => {
    const { tap } = await shown();
    channel.answers = [async () => actor('ou_1', { unionId: 'on_li' })];
    await Promise.all([1, 2, 3].map(() => handler.handle(channel, tap(actor('ou_1')))));
    await handler.handle(channel, tap(actor('ou_1')));
    expect(channel.asked).toBe(1);
    clock.advance(10 * 60_000);
    await handler.handle(channel, tap(actor('ou_1')));
    expect(channel.asked).toBe(2);
  });

  it('059: is not recorded while the directory fails, says so, and is counted at the next try', async () => {
    const { id, tap } = await shown();
    channel.answers = [
      async () => {
        throw new Error('502');
      },
      async () => actor('ou_1', { unionId: 'on_li' }),
    ];
    expect(noticeOf(await handler.handle(channel, tap(actor('ou_1'))))).toEqual(NOTICES.notIdentified);
    expect(await lastCode(id)).toBe('directory_unavailable');
    expect(await votesOf(id)).toEqual([]);
    await handler.handle(channel, tap(actor('ou_1')));
    expect(await votesOf(id)).toEqual(['li.wei']);
  });

  it('is not recorded when the directory hangs, within the platform’s three seconds', async () => {
    const { id, tap } = await shown();
    channel.answers = [() => new Promise(() => {})];
    const reply = await handlerOn({ ...systemClock, ...hurriedClock }).handle(channel, tap(actor('ou_1')));
    expect([NOTICES.notIdentified, NOTICES.unconfirmed]).toContainEqual(noticeOf(reply));
    expect(await votesOf(id)).toEqual([]);
  });

  it('059: of a stranger is refused as one, and the directory is left alone for a while', async () => {
    const { id, tap } = await shown();
    channel.answers = [async () => null];
    for (let round = 0; round < 3; round += 1) {
      expect(noticeOf(await handler.handle(channel, tap(actor('ou_x'))))).toEqual(NOTICES.unknownPerson);
    }
    expect(channel.asked).toBe(1);
    expect(await lastCode(id)).toBe('unknown_person');
  });

  it('is refused where the directory’s ids belong to two people', async () => {
    const { id, tap } = await shown();
    channel.answers = [async () => actor('ou_1', { unionId: 'on_li', userId: 'wang' })];
    expect(noticeOf(await handler.handle(channel, tap(actor('ou_1'))))).toEqual(NOTICES.ambiguousPerson);
    expect(await votesOf(id)).toEqual([]);
  });

  it.each([
    ['whose ids settle it', actor('ou_owner')],
    ['who is a bot', { ...actor('ou_1'), isBot: true }],
    ['whose every kind of id is configured', actor('ou_1', { unionId: 'x', userId: 'y', email: 'z' })],
  ])('of somebody %s asks no directory', async (_, by) => {
    const { tap } = await shown();
    await handler.handle(channel, tap(by));
    expect(channel.asked).toBe(0);
  });

  it('that does not match the card asks no directory', async () => {
    const { tap } = await shown();
    await handler.handle(channel, tap(actor('ou_1'), { chat: 'oc_other' }));
    expect(channel.asked).toBe(0);
  });

  it('keeps with the vote which version of the card was tapped, also when a newer one is out', async () => {
    const { id, tap, delivery } = await shown();
    channel.answers = [async () => actor('ou_1', { unionId: 'on_li' })];
    const [first] = await database.connection
      .select()
      .from(renderedCards)
      .where(eq(renderedCards.deliveryId, delivery.id));
    if (!first) throw new Error('nothing was kept');
    const newer = { ...first, version: first.version + 1, payload: '{}', at: new Date() };
    const digest = cardDigest({ payload: '{}', decisiveShown: true });
    await database.connection.insert(renderedCards).values({ ...newer, digest });
    await database.connection
      .update(deliveries)
      .set({ shownVersion: newer.version })
      .where(eq(deliveries.id, delivery.id));

    await handler.handle(channel, tap(actor('ou_1'), { cardVersion: first.version }));
    const saw = { delivery: delivery.id, version: first.version, digest: first.digest, locale: 'en-US' };
    expect((await core.service.get(id))?.votes).toMatchObject([{ seen: saw }]);
    const cast = (await eventsOf(id)).find(({ kind }) => kind === 'vote.cast');
    expect(cast?.data).toMatchObject({ seen: { ...saw, at: first.at.toISOString() } });
  });

  it('of a card that does not say its version is taken for the newest that the platform has', async () => {
    const { id, tap, delivery } = await shown();
    channel.answers = [async () => actor('ou_1', { unionId: 'on_li' })];
    await handler.handle(channel, tap(actor('ou_1'), { cardVersion: null }));
    expect((await core.service.get(id))?.votes).toMatchObject([
      { seen: { delivery: delivery.id, version: delivery.shownVersion } },
    ]);
  });

  it('of a version that never went out is refused', async () => {
    const { id, tap } = await shown();
    await handler.handle(channel, tap(actor('ou_owner'), { cardVersion: 99 }));
    expect(await lastCode(id)).toBe('unknown_version');
    expect(await votesOf(id)).toEqual([]);
  });
});
