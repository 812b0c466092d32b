import * as lark from '@larksuiteoapi/node-sdk';
import * as larkAdapter from '@satorijs/adapter-lark';
import { Context, HTTP } from '@satorijs/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeFrame, encodeFrame } from '../../src/standin/feishu/frame-codec.ts';
import { type FeishuStandin, startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { APP, LI_WEI } from '../channels/feishu/feishu-rig.ts';
import { until } from '../support/until.ts';

// As in feishu-standin-clients.test.ts: what the stand-in says over long connections is read by the official SDK and by
// the Lark adapter of Satori, each with its own protobuf code.

const content = JSON.stringify({
  schema: '2.0',
  config: { update_multi: true },
  body: {
    elements: [
      {
        tag: 'button',
        text: { tag: 'plain_text', content: '批准' },
        behaviors: [{ type: 'callback', value: { action: 'approve', request: '0198' } }],
      },
    ],
  },
});
const silent = { error() {}, warn() {}, info() {}, debug() {}, trace() {} };

let standin: FeishuStandin;
beforeEach(async () => {
  standin = await startFeishuStandin({
    ...APP,
    users: [LI_WEI],
    callbackUrl: () => null,
    longConnection: true,
  });
});
afterEach(() => standin.stop());

const platform = () => {
  if (standin.longConnections === null) throw new Error('there are no long connections');
  return standin.longConnections;
};
const sendCard = async () => {
  const client = new lark.Client({
    ...APP,
    domain: standin.url,
    cache: new lark.DefaultCache(),
    logger: silent,
  });
  const data = { receive_id: APP.chat, msg_type: 'interactive', content };
  const made = await client.im.v1.message.create({ params: { receive_id_type: 'chat_id' }, data });
  return { openId: LI_WEI.openId, messageId: made.data?.message_id ?? '', element: 0 };
};

describe('the official SDK', () => {
  it.each([1, 5])('connects, takes a tap in %d frames and answers with a toast', async (frames) => {
    let ready = false;
    const seen: unknown[] = [];
    const client = new lark.WSClient({
      ...APP,
      domain: standin.url,
      logger: silent,
      onReady: () => {
        ready = true;
      },
    });
    const dispatcher = new lark.EventDispatcher({ logger: silent }).register({
      'card.action.trigger': async (event: unknown) => {
        seen.push(event);
        return { toast: { type: 'success', content: '好' } };
      },
    });
    await client.start({ eventDispatcher: dispatcher });
    try {
      await until(() => ready);
      expect(platform().connections()).toHaveLength(1);
      platform().splitNextEvent(frames);
      expect(await standin.tap(await sendCard())).toMatchObject({ kind: 'toast', text: '好' });
      expect(seen).toMatchObject([
        { app_id: APP.appId, operator: { open_id: LI_WEI.openId }, action: { value: { action: 'approve' } } },
      ]);
    } finally {
      client.close({ force: true });
    }
  });

  it('is refused with another secret', async () => {
    let failure = '';
    const client = new lark.WSClient({
      ...{ ...APP, appSecret: 'wrong', autoReconnect: false },
      domain: standin.url,
      logger: silent,
      onError: (error) => {
        failure = error.message;
      },
    });
    await client.start({ eventDispatcher: new lark.EventDispatcher({ logger: silent }) });
    await until(() => failure !== '');
    client.close({ force: true });
    expect(platform().connections()).toHaveLength(0);
  });
});

/** The parts of Satori's loosely typed world that this test touches. */
interface Bot {
  dispatch: (session: unknown) => void;
  readonly adapter?: { connect(bot: Bot): Promise<void>; disconnect(bot: Bot): Promise<void> };
  stop(): Promise<void>;
  _refresher?: NodeJS.Timeout;
}
/** The package's types do not resolve its own class under NodeNext. */
const { LarkBot } = larkAdapter as unknown as { LarkBot: new (context: Context, config: object) => Bot };

describe('the Lark adapter of Satori', () => {
  // That client listens a moment after its connection stands, and does not say when.
  it('connects, takes a tap in several frames and acknowledges it', { retry: 2 }, async () => {
    const root = new Context();
    root.plugin(HTTP);
    const started: Bot[] = [];
    const sessions: unknown[] = [];
    root.plugin({
      name: 'bot',
      inject: ['http'],
      apply(context: Context) {
        const bot = new LarkBot(context, {
          ...APP,
          endpoint: `${standin.url}/open-apis/`,
          protocol: 'ws',
          headers: {},
        });
        bot.dispatch = (session) => sessions.push(session);
        started.push(bot);
      },
    });
    const bot = await until(() => started[0]);
    try {
      await (await until(() => bot.adapter)).connect(bot);
      await until(() => platform().connections().length === 1);
      platform().splitNextEvent(3);
      // It acknowledges without a body, which a person's client takes for an error; a handler there could not answer.
      const tap = await sendCard();
      const answer = await platform().connections()[0]?.deliver(standin.payloadOf(tap));
      expect(answer).toEqual({ kind: 'answered', code: 200, body: null });
      expect(sessions.length).toBeGreaterThan(0);
    } finally {
      await bot.stop();
      clearTimeout(bot._refresher);
    }
  });
});

describe('the frames', () => {
  it('read back as they were written', () => {
    const frame = {
      sequence: 2n ** 64n - 1n,
      log: 300n,
      service: 33_554_678,
      method: 'data',
      headers: { type: 'event', 'message-id': '', 审批: '好' },
      payload: Buffer.from('付款 🚀'.repeat(100)),
    } as const;
    expect(decodeFrame(encodeFrame(frame))).toEqual(frame);
  });

  it.each(['', '08', '0801', '20ff', '2a05', '2003', 'ffffffffffffffffffffff'])('are not %s', (hex) => {
    expect(decodeFrame(Buffer.from(hex, 'hex'))).toBeNull();
  });
});
