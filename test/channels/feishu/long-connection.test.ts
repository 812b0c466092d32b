import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { feishuChannelKind } from '../../../channels/feishu/index.ts';
import type { Channel } from '../../../src/channel/channel.ts';
import type { InboundEvent } from '../../../src/channel/inbound-event.ts';
import { systemClock } from '../../../src/clock.ts';
import { channelId, newDeliveryId } from '../../../src/ids.ts';
import type { JsonObject } from '../../../src/json.ts';
import { type FeishuStandin, startFeishuStandin } from '../../../src/standin/feishu/start-feishu-standin.ts';
import { until } from '../../support/until.ts';
import { sampleCard } from '../sample-card.ts';
import { APP, buttonFor, LI_WEI, startFeishuConnectionRig } from './feishu-rig.ts';

let feishu: FeishuStandin;
let channel: Channel;
let events: InboundEvent[];
let refusals: string[];
let log: string[];

async function connect(settings: Readonly<Record<string, unknown>> = {}) {
  channel = feishuChannelKind.create({
    id: channelId('pay-feishu'),
    settings: feishuChannelKind.settings.parse({
      ...{ ...APP, domain: feishu.url, mode: 'long-connection' },
      ...settings,
    }),
    locale: 'zh-CN',
    clock: systemClock,
    logger: pino({ level: 'trace' }, { write: (line: string) => void log.push(line) }),
  });
  await channel.start();
  channel.connection?.open({
    async handle(event) {
      events.push(event);
      if (event.type !== 'tap') return { answer: { status: 200, contentType: '', body: '{}' } };
      const words = { 'zh-CN': '已批准', 'en-US': 'Approved' };
      return channel.reply(event, { kind: 'notice', notice: { level: 'success', text: words } });
    },
    async refuse(reason) {
      refusals.push(reason);
    },
  });
}
const platform = () => {
  if (feishu.longConnections === null) throw new Error('there are no long connections');
  return feishu.longConnections;
};
const connectionAt = (at: number) => {
  const connection = platform().connections()[at];
  if (connection === undefined) throw new Error(`there is no connection ${at}`);
  return connection;
};
const tapOnCard = async () => {
  const outcome = await channel.send({
    id: newDeliveryId(),
    confirmationId: sampleCard().confirmationId,
    token: 'tok_0123456789abcdef',
    rendered: channel.render(sampleCard(), 'tok_0123456789abcdef'),
    attempt: 1,
    signal: AbortSignal.timeout(20_000),
  });
  if (outcome.kind !== 'sent') throw new Error('the card was not sent');
  return { openId: LI_WEI.openId, messageId: outcome.messageId, element: buttonFor('approve') };
};
const payload = async (header: JsonObject = {}) => {
  const genuine = feishu.payloadOf(await tapOnCard());
  return { ...genuine, header: { ...(genuine.header as JsonObject), ...header } };
};

beforeEach(async () => {
  events = [];
  refusals = [];
  log = [];
  feishu = await startFeishuStandin({
    ...APP,
    users: [LI_WEI],
    callbackUrl: () => null,
    longConnection: true,
  });
  await connect();
  await until(() => channel.connection?.status().open === 2);
});
afterEach(async () => {
  vi.useRealTimers();
  await channel.stop();
  await feishu.stop();
});

describe('a tap over a long connection', () => {
  it('is answered with the toast', async () => {
    expect(await feishu.tap(await tapOnCard())).toMatchObject({
      kind: 'toast',
      type: 'success',
      text: '已批准',
    });
    expect(events).toMatchObject([
      { type: 'tap', app: APP.appId, tenant: APP.tenant, actor: { ids: { openId: LI_WEI.openId } } },
    ]);
  });

  it('that comes in several frames is one tap', async () => {
    platform().splitNextEvent(7);
    expect(await feishu.tap(await tapOnCard())).toMatchObject({ kind: 'toast' });
    expect(events).toHaveLength(1);
  });

  it('that comes twice happens once, and is answered twice', async () => {
    const event = await payload();
    const answers = await Promise.all([0, 1].map((at) => connectionAt(at).deliver(event)));
    for (const answer of answers) expect(answer).toMatchObject({ kind: 'answered', code: 200 });
    expect(events).toHaveLength(1);
  });

  it.each([undefined, '', null])('may carry the verification token %j', async (token) => {
    const event = await payload();
    if (token === undefined) delete (event.header as Record<string, unknown>).token;
    else Object.assign(event.header, { token });
    expect(await connectionAt(0).deliver(event)).toMatchObject({ kind: 'answered', code: 200 });
    expect(events).toHaveLength(1);
  });

  it('under another verification token is refused, recorded and not handled', async () => {
    const event = await payload({ token: 'of another app' });
    expect(await connectionAt(0).deliver(event)).toEqual({ kind: 'answered', code: 500, body: null });
    expect(refusals).toEqual(['the verification token is wrong']);
    expect(events).toEqual([]);
  });

  it('of another shape does nothing and is answered', async () => {
    for (const strange of [{}, { schema: '2.0' }, { header: null }, { header: { event_type: 'x' } }])
      expect(await connectionAt(0).deliver(strange)).toEqual({ kind: 'answered', code: 200, body: '{}' });
    expect(events.map(({ type }) => type)).toEqual(Array(4).fill('unsupported'));
  });
});

describe('a long connection', () => {
  it('survives whatever is no frame of Feishu’s', async () => {
    for (const bytes of ['', 'null', '\x08', '\xff\xff\xff', 'x'.repeat(100_000)])
      for (const at of [0, 1]) connectionAt(at).send(Buffer.from(bytes, 'latin1'));
    expect(await feishu.tap(await tapOnCard())).toMatchObject({ kind: 'toast' });
    expect(channel.connection?.status()).toMatchObject({ open: 2, reconnects: 0 });
  });

  // The endpoint, and every pong, ask for a ping in two minutes; the channel pings after half of one.
  it('that has died silently is found by its ping, and replaced', async () => {
    await channel.stop();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    /** Lets so much time pass, and what is on its way over loopback arrive. */
    const pass = async (forMs: number, over: () => boolean = () => false) => {
      for (let passed = 0; passed < forMs && !over(); passed += 100) {
        vi.advanceTimersByTime(100);
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const isWhole = () => channel.connection?.status().open === 2;
    await connect();
    await pass(20_000, isWhole);
    await pass(31_000);
    expect(
      platform()
        .connections()
        .map((connection) => connection.pings()),
    ).toEqual([2, 2]);
    for (const connection of platform().connections()) connection.freeze();
    await pass(90_000, () => channel.connection?.status().reconnects === 2 && isWhole());
    expect(channel.connection?.status()).toMatchObject({ open: 2, reconnects: 2 });
  });

  it('is not asked for again sooner than Feishu wants', async () => {
    await channel.stop();
    const rig = await startFeishuConnectionRig();
    ({ channel } = rig);
    const limited = {
      kind: 'answer',
      status: 429,
      body: { code: 99991400, msg: 'request trigger frequency limit' },
      headers: { 'x-ogw-ratelimit-reset': '200' },
    } as const;
    let asked = 0;
    rig.standin.faults.follow((operation) => {
      if (operation !== 'endpoint') return null;
      asked += 1;
      return asked <= 2 ? limited : null;
    });
    /** Calls over the same network as the questions: what was asked before them is answered after them. */
    const settled = async () => {
      for (let turn = 0; turn < 3; turn += 1) await tapOnCard();
    };
    try {
      for (const connection of rig.standin.longConnections?.connections() ?? []) connection.cut();
      await until(() => {
        rig.clock.advance(50);
        return asked === 2;
      });
      await settled();
      expect(channel.connection?.status()).toMatchObject({
        open: 0,
        detail: expect.stringContaining('99991400'),
      });
      rig.clock.advance(190_000);
      await settled();
      expect(asked).toBe(2);
      rig.clock.advance(11_000);
      await until(() => channel.connection?.status().open === 2);
    } finally {
      await rig.stop();
    }
  });

  it('is not opened by a check, which says what is wrong with the credentials', async () => {
    expect(await channel.connection?.check(AbortSignal.timeout(5_000))).toMatchObject({ ready: true });
    expect(platform().connections()).toHaveLength(2);
    await channel.stop();
    await connect({ appSecret: 'wrong' });
    expect(await channel.connection?.check(AbortSignal.timeout(5_000))).toEqual({
      ready: false,
      detail: 'long connection: the endpoint answered 514: auth failed',
    });
    await until(() => channel.health().detail.includes('(the endpoint answered 514: auth failed)'));
    expect(channel.health().ready).toBe(false);
  });

  it('leaves neither secret nor ticket in the log, nor anything that was said', async () => {
    for (const connection of platform().connections()) connection.cut();
    await until(() => channel.connection?.status().reconnects === 2);
    await until(async () => (await feishu.tap(await tapOnCard())).kind === 'toast');
    expect(log.join()).toContain('is replaced');
    for (const secret of [APP.appSecret, APP.verificationToken, 'ticket', 'ws://', 'card.action'])
      expect(log.join()).not.toContain(secret);
  });
});
