import * as lark from '@larksuiteoapi/node-sdk';
import * as larkAdapter from '@satorijs/adapter-lark';
import { Context, HTTP } from '@satorijs/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SignedCallback } from '../../src/standin/feishu/sign-callback.ts';
import { type FeishuStandin, startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { APP, LI_WEI } from '../channels/feishu/feishu-rig.ts';
import { until } from '../support/until.ts';

// The stand-in is only worth as much as clients that nobody here wrote take it for the platform: the official SDK
// and the Lark adapter of Satori, each with its own HTTP, signature and AES code.

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

let standin: FeishuStandin;
beforeEach(async () => {
  standin = await startFeishuStandin({ ...APP, users: [LI_WEI], callbackUrl: () => null });
});
afterEach(() => standin.stop());

const tapOn = (messageId: string) => standin.callbackOf({ openId: LI_WEI.openId, messageId, element: 0 });

const bent = (callback: SignedCallback): SignedCallback => ({
  ...callback,
  headers: { ...callback.headers, 'x-lark-request-nonce': 'another' },
});

describe('the official SDK', () => {
  const silent = { error() {}, warn() {}, info() {}, debug() {}, trace() {} };

  it('sends, replies and changes cards', async () => {
    const client = new lark.Client({
      ...APP,
      domain: standin.url,
      cache: new lark.DefaultCache(),
      logger: silent,
    });
    const data = { receive_id: APP.chat, msg_type: 'interactive', content, uuid: 'u-1' };
    const made = await client.im.v1.message.create({ params: { receive_id_type: 'chat_id' }, data });
    const messageId = made.data?.message_id ?? '';
    expect(made).toMatchObject({ code: 0, data: { chat_id: APP.chat, msg_type: 'interactive' } });
    const changed = await client.im.v1.message.patch({
      path: { message_id: messageId },
      data: { content: content.replace('批准', '同意') },
    });
    expect(changed.code).toBe(0);
    const reply = await client.im.v1.message.reply({
      path: { message_id: messageId },
      data: { msg_type: 'interactive', content },
    });
    expect(reply.code).toBe(0);
    expect(standin.messages().map(({ replyTo }) => replyTo)).toEqual([null, messageId]);
    expect(standin.buttons(messageId)[0]?.text).toBe('同意');
  });

  it('verifies, decrypts and dispatches the callbacks, and drops bent ones', async () => {
    const client = new lark.Client({
      ...APP,
      domain: standin.url,
      cache: new lark.DefaultCache(),
      logger: silent,
    });
    const data = { receive_id: APP.chat, msg_type: 'interactive', content };
    const made = await client.im.v1.message.create({ params: { receive_id_type: 'chat_id' }, data });
    const seen: unknown[] = [];
    const dispatcher = new lark.EventDispatcher({
      encryptKey: APP.encryptKey,
      verificationToken: APP.verificationToken,
      logger: silent,
    }).register({
      'card.action.trigger': async (event: unknown) => {
        seen.push(event);
        return { toast: { type: 'success', content: 'ok' } };
      },
    });
    const callback = tapOn(made.data?.message_id ?? '');
    const asSdkWantsIt = ({ headers, body }: SignedCallback) =>
      Object.assign(Object.create({ headers }), JSON.parse(body.toString()));
    expect(await dispatcher.invoke(asSdkWantsIt(callback))).toEqual({
      toast: { type: 'success', content: 'ok' },
    });
    expect(seen).toMatchObject([
      {
        event_type: 'card.action.trigger',
        app_id: APP.appId,
        operator: { open_id: LI_WEI.openId, union_id: LI_WEI.unionId, tenant_key: APP.tenant },
        action: { tag: 'button', value: { action: 'approve', request: '0198' } },
        context: { open_message_id: made.data?.message_id, open_chat_id: APP.chat },
      },
    ]);
    expect(await dispatcher.invoke(asSdkWantsIt(bent(callback)))).toBeUndefined();
    expect(seen).toHaveLength(1);
  });
});

/** The parts of Satori's loosely typed world that this test touches. */
interface Bot {
  readonly http: { readonly config: { headers?: Record<string, string> } };
  readonly internal: {
    readonly im: {
      readonly message: {
        create(body: object, query: object): Promise<{ readonly message_id: string }>;
        patch(messageId: string, body: object): Promise<unknown>;
      };
    };
  };
  readonly adapter: { connect(bot: Bot): Promise<void> };
  dispatch: (session: unknown) => void;
  _refresher?: NodeJS.Timeout;
}
type Handler = (context: object) => Promise<unknown>;
/** The package's types do not resolve its own class under NodeNext. */
const { LarkBot } = larkAdapter as unknown as { LarkBot: new (context: Context, config: object) => Bot };

describe('the Lark adapter of Satori', () => {
  let bot: Bot;
  const routes = new Map<string, Handler>();

  beforeEach(async () => {
    const root = new Context();
    const services = root as unknown as {
      provide(name: string): void;
      set(name: string, value: object): void;
    };
    root.plugin(HTTP);
    services.provide('server');
    services.set('server', { post: (path: string, handler: Handler) => routes.set(path, handler) });
    const config = {
      ...APP,
      endpoint: `${standin.url}/open-apis/`,
      protocol: 'http',
      path: '/feishu',
      verifySignature: true,
      headers: {},
    };
    const started: Bot[] = [];
    root.plugin({
      name: 'bot',
      inject: ['http', 'server'],
      apply(context: Context) {
        started.push(new LarkBot(context, config));
      },
    });
    bot = await until(() => started[0]);
    // Its own start has fetched a token from the stand-in.
    await until(() => bot.http.config.headers?.Authorization);
    await bot.adapter.connect(bot);
  });
  afterEach(() => clearTimeout(bot._refresher));

  const deliver = async ({ headers, body }: SignedCallback) => {
    const text = body.toString();
    const context = {
      get: (name: string) => headers[name.toLowerCase()],
      request: {
        body: Object.assign(JSON.parse(text), { [Symbol.for('unparsedBody')]: text }),
        is: () => true,
      },
      response: {},
      status: 0,
    };
    await routes.get('/feishu')?.(context);
    return context.status;
  };

  it('sends and changes cards, and takes the callbacks but no bent ones', async () => {
    const { message_id: messageId } = await bot.internal.im.message.create(
      { receive_id: APP.chat, msg_type: 'interactive', content },
      { receive_id_type: 'chat_id' },
    );
    await bot.internal.im.message.patch(messageId, { content: content.replace('批准', '同意') });
    expect(standin.messages()[0]).toMatchObject({ messageId, contents: { length: 2 } });
    const sessions: unknown[] = [];
    bot.dispatch = (session) => sessions.push(session);
    const callback = tapOn(messageId);
    expect(await deliver(callback)).toBe(200);
    await until(() => sessions.length === 1);
    expect(await deliver(bent(callback))).toBe(403);
  });
});
