import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { feishuChannelKind } from '../../../channels/feishu/index.ts';
import type { OutgoingDelivery } from '../../../src/channel/channel.ts';
import { channelId, newDeliveryId } from '../../../src/ids.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';
import { sampleCard } from '../sample-card.ts';
import { APP, type FeishuRig, startFeishuRig } from './feishu-rig.ts';

const TOKEN = 'tok_0123456789abcdef';

let rig: FeishuRig;
let log: string;
beforeEach(async () => {
  const stream = new PassThrough();
  log = '';
  stream.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  rig = await startFeishuRig(pino({ level: 'trace' }, stream));
});
afterEach(async () => {
  await rig.stop();
  for (const secret of [APP.appSecret, APP.encryptKey, APP.verificationToken, '68000.00'])
    expect(log).not.toContain(secret);
});

const delivery = (changes: Partial<OutgoingDelivery> = {}): OutgoingDelivery => ({
  id: newDeliveryId(),
  confirmationId: sampleCard().confirmationId,
  token: TOKEN,
  rendered: rig.channel.render(sampleCard(), TOKEN),
  attempt: 1,
  signal: new AbortController().signal,
  ...changes,
});

const refuse = (code: number, status = 400) =>
  ({ kind: 'answer', status, body: { code, msg: `refused with ${code}` } }) as const;

describe('the tenant token', () => {
  it('is asked for once, however many cards wait for it', async () => {
    await rig.channel.send(delivery());
    rig.clock.advance(7_200_000);
    // A second token request would take this fault and fail its card.
    const outcomes = Promise.all(Array.from({ length: 20 }, () => rig.channel.send(delivery())));
    expect((await outcomes).map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, () => 'sent'));
    expect(rig.standin.tokensIssued()).toBe(2);
  });

  it('is renewed before it expires', async () => {
    await rig.channel.send(delivery());
    rig.clock.advance(7_200_000 - 299_000);
    expect((await rig.channel.send(delivery())).kind).toBe('sent');
    expect(rig.standin.tokensIssued()).toBe(2);
  });

  it('serves on while it is valid and no new one can be had', async () => {
    await rig.channel.send(delivery());
    rig.clock.advance(7_200_000 - 290_000);
    rig.standin.faults.next('token', refuse(99991400, 429));
    expect((await rig.channel.send(delivery())).kind).toBe('sent');
    // Not asked for again at once.
    expect((await rig.channel.send(delivery())).kind).toBe('sent');
    expect(rig.standin.tokensIssued()).toBe(1);
    rig.clock.advance(31_000);
    expect((await rig.channel.send(delivery())).kind).toBe('sent');
    expect(rig.standin.tokensIssued()).toBe(2);
  });

  it('is replaced once when the platform no longer knows it', async () => {
    await rig.channel.send(delivery());
    rig.standin.revokeTokens();
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => rig.channel.send(delivery())));
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 5 }, () => 'sent'));
    expect(rig.standin.tokensIssued()).toBe(2);
  });

  it('that is refused even when new ends the delivery', async () => {
    rig.standin.faults.next('create', refuse(99991663), refuse(99991663));
    expect((await rig.channel.send(delivery())).kind).toBe('refused');
  });

  it('that cannot be had for now leaves the card for later', async () => {
    await rig.channel.send(delivery());
    rig.clock.advance(7_200_000);
    rig.standin.faults.next('token', { kind: 'cut', carriedOut: false });
    expect(await rig.channel.send(delivery())).toMatchObject({ kind: 'retry' });
    const limited = { ...refuse(99991400, 429), headers: { 'x-ogw-ratelimit-reset': '30' } };
    rig.standin.faults.next('token', limited);
    expect(await rig.channel.send(delivery())).toMatchObject({ kind: 'retry', retryAfterMs: 30_000 });
    expect((await rig.channel.send(delivery())).kind).toBe('sent');
  });

  it('refused for wrong credentials refuses the card and shows in the health', async () => {
    await rig.channel.send(delivery());
    expect(rig.channel.health().ready).toBe(true);
    rig.clock.advance(7_200_000);
    rig.standin.faults.next('token', refuse(10014, 200));
    expect((await rig.channel.send(delivery())).kind).toBe('refused');
    expect(rig.channel.health()).toMatchObject({ ready: false });
    expect(rig.channel.health().detail).toContain('10014');
    await rig.channel.send(delivery());
    expect(rig.channel.health().ready).toBe(true);
  });
});

describe('what the platform answers', () => {
  it.each([230022, 230025, 230028, 230099])('%d refuses what the card says', async (code) => {
    rig.standin.faults.next('create', refuse(code));
    const sent = await rig.channel.send(delivery());
    expect(sent).toMatchObject({ kind: 'content-refused', error: expect.stringContaining(String(code)) });
    const posted = await rig.channel.send(delivery());
    rig.standin.faults.next('patch', refuse(code));
    const messageId = posted.kind === 'sent' ? posted.messageId : '';
    expect((await rig.channel.update({ ...delivery(), messageId })).kind).toBe('content-refused');
  });

  it.each([230002, 230013, 230053, 230001, 230006, 232009, 99991672, 99991401])(
    '%d refuses the card for good',
    async (code) => {
      rig.standin.faults.next('create', refuse(code), refuse(code, 200));
      expect((await rig.channel.send(delivery())).kind).toBe('refused');
      expect((await rig.channel.send(delivery())).kind).toBe('refused');
    },
  );

  it.each([
    [refuse(230020), 5_000],
    [refuse(99991400), 5_000],
    [refuse(99991400, 200), 5_000],
    [{ ...refuse(99991400, 429), headers: { 'x-ogw-ratelimit-reset': '30' } }, 30_000],
    [{ ...refuse(99991400), headers: { 'x-ogw-ratelimit-reset': '999999' } }, 300_000],
    [{ ...refuse(99991400), headers: { 'x-ogw-ratelimit-reset': '-1' } }, 5_000],
    [{ kind: 'answer', status: 429, body: 'slow down' } as const, 5_000],
    [{ kind: 'answer', status: 404, body: '<html>' } as const, null],
    [refuse(4711), null],
  ])('%j is to be tried again', async (fault, retryAfterMs) => {
    rig.standin.faults.next('create', fault);
    expect(await rig.channel.send(delivery())).toMatchObject({ kind: 'retry', retryAfterMs });
  });

  it.each([
    refuse(230049),
    refuse(2200, 500),
    { kind: 'answer', status: 200, body: 'not json' } as const,
    { kind: 'answer', status: 200, body: { code: 0, msg: 'ok', data: {} } } as const,
    { kind: 'answer', status: 200, body: { code: 0, data: { message_id: '../../x' } } } as const,
    { kind: 'cut', carriedOut: false } as const,
  ])('%j leaves it uncertain', async (fault) => {
    rig.standin.faults.next('create', fault);
    expect((await rig.channel.send(delivery())).kind).toBe('uncertain');
  });

  it('never comes: the call ends after ten seconds, uncertain', async () => {
    await rig.channel.send(delivery());
    const pending = rig.clock.pendingTimers;
    rig.standin.faults.next('create', { kind: 'silence', carriedOut: true });
    const sending = rig.channel.send(delivery());
    await until(() => rig.clock.pendingTimers > pending && rig.standin.messages().length === 2);
    rig.clock.advance(10_000);
    expect((await sending).kind).toBe('uncertain');
  });

  it('never comes and the channel stops: the call ends with it', async () => {
    await rig.channel.send(delivery());
    rig.standin.faults.next('create', { kind: 'silence', carriedOut: true });
    const sending = rig.channel.send(delivery());
    await until(() => rig.standin.messages().length === 2);
    await rig.channel.stop();
    expect((await sending).kind).toBe('uncertain');
    expect(rig.channel.health()).toEqual({ ready: false, detail: 'stopped' });
  });

  it('says 230031 or 230110 of an update: the message can no longer be changed', async () => {
    const sent = await rig.channel.send(delivery());
    if (sent.kind !== 'sent') throw new Error('not sent');
    rig.standin.faults.next('patch', refuse(230031), refuse(230110));
    const update = { ...delivery(), messageId: sent.messageId };
    expect((await rig.channel.update(update)).kind).toBe('gone');
    expect((await rig.channel.update(update)).kind).toBe('gone');
    rig.standin.faults.next('patch', { kind: 'cut', carriedOut: true });
    expect((await rig.channel.update(update)).kind).toBe('uncertain');
  });
});

describe('the way out', () => {
  it('is five messages a second to a group, whose cards live for 14 days', () => {
    expect(rig.channel.pace?.messages).toEqual({ perSecond: 5, burst: 1 });
    expect(rig.channel.cardLifetimeMs).toBe(14 * 86_400_000);
  });

  it('ignores proxies of the environment and follows no redirect', async () => {
    const asked: string[] = [];
    const elsewhere = createServer((request, response) => {
      asked.push(String(request.url));
      response.end('{}');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const before = process.env.http_proxy;
    process.env.http_proxy = url;
    try {
      rig.standin.faults.next('create', {
        kind: 'answer',
        status: 307,
        body: '',
        headers: { location: `${url}/stolen` },
      });
      expect((await rig.channel.send(delivery())).kind).not.toBe('sent');
      expect((await rig.channel.send(delivery())).kind).toBe('sent');
      expect(asked).toEqual([]);
    } finally {
      if (before === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = before;
      await new Promise((resolve) => elsewhere.close(resolve));
    }
  });

  it('keeps two channels of one app apart', async () => {
    const logger = pino({ level: 'silent' });
    const clock = new ManualClock();
    const settings = feishuChannelKind.settings.parse({ ...APP, domain: rig.standin.url });
    const id = channelId('second');
    const second = feishuChannelKind.create({ id, settings, locale: 'en-US', clock, logger });
    await rig.channel.send(delivery());
    const before = rig.standin.tokensIssued();
    await second.send(delivery());
    expect(rig.standin.tokensIssued()).toBe(before + 1);
    await second.stop();
  });
});
