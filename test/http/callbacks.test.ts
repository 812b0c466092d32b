import { createHmac, timingSafeEqual } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel, ChannelAnswer, InboundRequest, InboundResult } from '../../src/channel/channel.ts';
import type { CallbackReply, TapEvent } from '../../src/channel/inbound-event.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { type ChannelId, channelId } from '../../src/ids.ts';
import { until } from '../support/until.ts';
import { CONFIG, createNeighbours, type Neighbours, startApp } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

const ID = channelId('pay-test');
const SECRET = 'signing secret of the test channel';
const signed = (body: Buffer | string) => createHmac('sha256', SECRET).update(body).digest('hex');

/** A small platform: a body signed by HMAC, `url-check`, `ping`, or a tap. */
class SignedChannel implements Pick<Channel, 'id' | 'kind' | 'receive' | 'reply'> {
  readonly id: ChannelId = ID;
  readonly kind = 'signed';
  readonly bodies: Buffer[] = [];
  readonly log: string[] = [];
  replyFails = false;
  followUp: () => Promise<void> = async () => {};

  async receive({ headers, body }: InboundRequest): Promise<InboundResult> {
    this.bodies.push(body);
    const signature = Buffer.from(String(headers['x-signature'] ?? ''), 'hex');
    const right = Buffer.from(signed(body), 'hex');
    if (headers['x-broken'] !== undefined) throw new Error('the verifier broke on super-secret-token');
    if (signature.length !== right.length || !timingSafeEqual(signature, right)) {
      return { kind: 'refused', reason: 'the signature is wrong' };
    }
    const text = body.toString();
    if (text === 'url-check') {
      return { kind: 'answered', answer: { status: 200, contentType: 'text/plain', body: 'challenge' } };
    }
    if (text === 'ping') return { kind: 'event', event: { type: 'unsupported', what: 'ping' } };
    return { kind: 'event', event: TAP };
  }

  reply(_event: TapEvent, reply: CallbackReply): ChannelAnswer {
    if (this.replyFails) throw new Error('cannot be drawn');
    const text =
      reply.kind === 'notice' ? `${reply.notice.level}: ${reply.notice.text['en-US']}` : reply.kind;
    this.log.push('answered');
    return {
      answer: { status: 200, contentType: 'application/json; charset=utf-8', body: JSON.stringify({ text }) },
      afterwards: async () => {
        this.log.push('afterwards');
        await this.followUp();
      },
    };
  }
}

const TAP: TapEvent = {
  type: 'tap',
  actor: { provider: 'signed', tenant: 't', ids: { user: 'u' }, isBot: false },
  app: null,
  tenant: 't',
  chat: 'c',
  messageId: 'm',
  confirmation: null,
  token: null,
  cardVersion: null,
  action: 'approve',
  reason: undefined,
  openedFor: null,
  eventId: 'e1',
  handle: null,
};

let channel: SignedChannel;
let neighbours: Neighbours;
let app: HttpApp;

beforeEach(async () => {
  channel = new SignedChannel();
  neighbours = createNeighbours();
  app = startApp(neighbours, {} as AppOptions['confirmations'], {
    channels: new Map([[ID, channel as unknown as Channel]]),
  });
  await app.ready();
});
afterEach(() => app.close());

const callback = (body: string | Buffer, headers: Record<string, string> = {}, remoteAddress = '10.1.1.1') =>
  app.inject({ method: 'POST', url: `/channels/${ID}/callback`, payload: body, headers, remoteAddress });

const tap = (remoteAddress?: string) =>
  callback('tap', { 'x-signature': signed('tap'), 'content-type': 'application/json' }, remoteAddress);

describe('a callback', () => {
  it.each([
    ['application/json', '{"a": 1,\n "a": 2}'],
    ['application/x-www-form-urlencoded', 'payload=%7B%7D&x=+'],
    ['text/plain', 'tap'],
    ['application/x-of-tomorrow', 'tap'],
    [undefined, 'tap'],
  ])('reaches the channel byte by byte, as %s', async (type, text) => {
    const body = Buffer.concat([Buffer.from(text), Buffer.from([0, 255])]);
    const headers = { 'x-signature': signed(body), ...(type ? { 'content-type': type } : {}) };
    expect((await callback(body, headers)).statusCode).toBe(200);
    expect(channel.bodies).toEqual([body]);
  });

  it('without a right proof is answered 401 and nothing else, and is on the record', async () => {
    let taps = 0;
    neighbours.onTap = async () => {
      taps += 1;
      throw new Error('must not be reached');
    };
    for (const headers of [
      {},
      { 'x-signature': '00' },
      { 'x-signature': signed('other') },
      { 'x-broken': '1' },
    ]) {
      const response = await callback('tap', headers as Record<string, string>);
      expect([response.statusCode, response.body]).toEqual([401, '']);
    }
    expect(taps).toBe(0);
    expect(neighbours.recorded).toHaveLength(4);
    expect(neighbours.recorded[0]).toMatchObject({
      kind: 'callback.refused',
      actor: { type: 'system' },
      data: { channel: ID, reason: 'the signature is wrong', address: '10.1.1.1' },
    });
  });

  it('without a body is refused, not a fault', async () => {
    const response = await app.inject({ method: 'POST', url: `/channels/${ID}/callback` });
    expect(response.statusCode).toBe(401);
  });

  it('over 1 MiB is refused before anybody looks at it', async () => {
    const response = await callback(Buffer.alloc(1024 * 1024 + 1));
    expect([response.statusCode, problemOf(response).code]).toEqual([413, 'body_too_large']);
    expect(channel.bodies).toEqual([]);
  });

  it('that only checks the address gets the channel’s answer, and an unknown event gets 200', async () => {
    const check = await callback('url-check', { 'x-signature': signed('url-check') });
    expect([check.statusCode, check.headers['content-type'], check.body]).toEqual([
      200,
      'text/plain',
      'challenge',
    ]);
    const ping = await callback('ping', { 'x-signature': signed('ping') });
    expect([ping.statusCode, ping.body]).toEqual([200, '{}']);
  });
});

describe('a verified tap', () => {
  it('is answered after what it caused has been committed, and followed up after the answer', async () => {
    let release = () => {};
    neighbours.onTap = async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      channel.log.push('committed');
      return { kind: 'notice', notice: { level: 'success', text: { 'zh-CN': '好', 'en-US': 'Approved' } } };
    };
    const answer = tap().then((response) => {
      channel.log.push(`received ${response.statusCode}`);
      return response;
    });
    await until(() => channel.bodies.length === 1);
    expect(channel.log).toEqual([]);
    release();
    expect((await answer).json()).toEqual({ text: 'success: Approved' });
    await until(() => channel.log.includes('afterwards'));
    expect(channel.log.slice(0, 2)).toEqual(['committed', 'answered']);
  });

  it('that could not be recorded is answered 200, telling the person so', async () => {
    neighbours.onTap = async () => {
      throw new Error('the database is down, its password is hunter2');
    };
    const response = await tap();
    expect(response.statusCode).toBe(200);
    expect(response.json().text).toBe(
      'error: This was not recorded and nothing has changed. Please try again in a moment.',
    );
    expect(response.body).not.toContain('hunter2');
    expect(neighbours.logLines.join()).toContain('a verified tap failed');
  });

  it('that was recorded but cannot be answered is still 200', async () => {
    channel.replyFails = true;
    const response = await tap();
    expect([response.statusCode, response.body]).toEqual([200, '{}']);
  });

  it('loses nothing by a follow-up that fails, and a stop waits for one that runs', async () => {
    channel.followUp = async () => {
      throw new Error('the chat is gone');
    };
    expect((await tap()).statusCode).toBe(200);
    await until(() => neighbours.logLines.join().includes('the follow-up of a tap failed'));

    let finish = () => {};
    channel.followUp = () =>
      new Promise<void>((resolve) => {
        finish = () => {
          channel.log.push('finished');
          resolve();
        };
      });
    await tap();
    await until(() => channel.log.filter((line) => line === 'afterwards').length === 2);
    const closing = app.close().then(() => channel.log.push('closed'));
    finish();
    await closing;
    expect(channel.log.slice(-2)).toEqual(['finished', 'closed']);
  });
});

describe('the limit on failed proofs', () => {
  it('stops recording what one address fails, and never a verified callback from the same address', async () => {
    const statuses = new Map<number, number>();
    for (let index = 0; index < 640; index += 1) {
      const { statusCode, headers, body } = await callback('tap', { 'x-signature': '00' });
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
      if (statusCode === 429) expect([Number(headers['retry-after']) > 0, body]).toEqual([true, '']);
    }
    expect(Object.fromEntries(statuses)).toEqual({ 401: 600, 429: 40 });
    expect(neighbours.recorded).toHaveLength(60);
    for (let index = 0; index < 100; index += 1) expect((await tap()).statusCode).toBe(200);
    expect((await callback('tap', { 'x-signature': '00' }, '10.1.1.2')).statusCode).toBe(401);
  });

  it('counts by the client’s address only behind a proxy that is trusted', async () => {
    const forged = (address: string) => callback('tap', { 'x-signature': '00', 'x-forwarded-for': address });
    await forged('1.2.3.4');
    expect(neighbours.recorded.at(-1)?.data.address).toBe('10.1.1.1');

    await app.close();
    neighbours = createNeighbours();
    app = startApp(neighbours, {} as AppOptions['confirmations'], {
      config: { ...CONFIG, trustProxy: ['10.1.1.0/24'] },
      channels: new Map([[ID, channel as unknown as Channel]]),
    });
    await forged('1.2.3.4');
    expect(neighbours.recorded.at(-1)?.data.address).toBe('1.2.3.4');
  });
});
