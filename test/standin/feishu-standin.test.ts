import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/json.ts';
import { type FeishuStandin, startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { APP, LI_WEI } from '../channels/feishu/feishu-rig.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

const WANG_FANG = { openId: 'ou_wang', unionId: 'on_wang', name: '王芳', language: 'en_us' } as const;

const button = (changes: JsonObject = {}): JsonObject => ({
  tag: 'button',
  text: { tag: 'plain_text', content: 'Approve' },
  behaviors: [{ type: 'callback', value: { action: 'approve' } }],
  ...changes,
});
const submit = (name: string): JsonObject => ({
  tag: 'button',
  name,
  text: { tag: 'plain_text', content: name },
  form_action_type: 'submit',
});
const form = (...elements: JsonObject[]): JsonObject => ({ tag: 'form', name: 'reason_form', elements });
const card = (...elements: JsonObject[]): JsonObject => ({
  schema: '2.0',
  config: { update_multi: true },
  body: { elements },
});

/** The service under the callback URL: answers whatever the test says next. */
interface Service {
  readonly url: string;
  readonly seen: { readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }[];
  answer: { readonly status: number; readonly body: string } | 'never';
  readonly server: Server;
}

let standin: FeishuStandin;
let service: Service;
let callbackUrl: string | null;
const clock = new ManualClock();

beforeEach(async () => {
  service = await startService();
  callbackUrl = service.url;
  standin = await startFeishuStandin({
    ...APP,
    users: [LI_WEI, WANG_FANG],
    callbackUrl: () => callbackUrl,
    clock,
  });
});
afterEach(async () => {
  await standin.stop();
  service.server.closeAllConnections();
  await new Promise((resolve) => service.server.close(resolve));
});

async function startService(): Promise<Service> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      started.seen.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      if (started.answer === 'never') return;
      response.writeHead(started.answer.status, { location: started.url }).end(started.answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/channels/pay-feishu/callback`;
  const started: Service = { url, seen: [], answer: { status: 200, body: '{}' }, server };
  return started;
}

async function api(method: string, path: string, body: unknown, token?: string) {
  const response = await fetch(`${standin.url}/open-apis${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer };
}
interface Answer {
  readonly code: number;
  readonly msg: string;
  readonly tenant_access_token?: string;
  readonly data?: { readonly message_id?: string };
}

const tokenFor = async (secret: string = APP.appSecret) =>
  (await api('POST', '/auth/v3/tenant_access_token/internal', { app_id: APP.appId, app_secret: secret }))
    .body;

async function send(content: JsonObject | string, changes: JsonObject = {}) {
  const { tenant_access_token: token } = await tokenFor();
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const body = { receive_id: APP.chat, msg_type: 'interactive', content: text, ...changes };
  return api('POST', '/im/v1/messages?receive_id_type=chat_id', body, token);
}

async function sent(content: JsonObject): Promise<string> {
  const { body } = await send(content);
  if (body.data?.message_id === undefined) throw new Error(body.msg);
  return body.data.message_id;
}

describe('the open platform on loopback', () => {
  it('gives tokens for the right secret only, and wants one for everything else', async () => {
    expect((await tokenFor('wrong')).code).toBe(10014);
    expect((await api('POST', '/im/v1/messages?receive_id_type=chat_id', {})).body.code).toBe(99991661);
    expect((await api('POST', '/im/v1/messages?receive_id_type=chat_id', {}, 't-x')).body.code).toBe(
      99991663,
    );
    const { tenant_access_token: token } = await tokenFor();
    clock.advance(7_200_000);
    const late = await api('POST', '/im/v1/messages?receive_id_type=chat_id', {}, token);
    expect(late.body.code).toBe(99991663);
  });

  it('makes one message of one uuid within an hour, and another afterwards', async () => {
    const first = await send(card(), { uuid: 'delivery-1' });
    expect((await send(card(), { uuid: 'delivery-1' })).body.data).toEqual(first.body.data);
    expect(standin.messages()).toHaveLength(1);
    clock.advance(3_600_000);
    await send(card(), { uuid: 'delivery-1' });
    expect(standin.messages()).toHaveLength(2);
  });

  it('follows a plan for what no fault is planned for', async () => {
    standin.faults.follow((operation, body) =>
      operation === 'create' && body.uuid === 'busy'
        ? { kind: 'answer', status: 500, body: { code: 1, msg: 'internal error' } }
        : null,
    );
    expect((await send(card(), { uuid: 'busy' })).status).toBe(500);
    expect((await send(card(), { uuid: 'well' })).status).toBe(200);
    const planned = { code: 99991400, msg: 'busy' };
    standin.faults.next('create', { kind: 'answer', status: 429, body: planned });
    expect((await send(card(), { uuid: 'busy' })).body).toEqual(planned);
    expect(standin.messages()).toHaveLength(1);
  });

  it('refuses another chat, a body over 30 KB and a card that is none', async () => {
    expect((await send(card(), { receive_id: 'oc_other' })).body.code).toBe(230002);
    const long = { tag: 'div', text: { tag: 'plain_text', content: '审'.repeat(11_000) } };
    expect((await send(card(long))).body.code).toBe(230025);
    expect((await send('{')).body.code).toBe(230099);
  });

  const hr = { tag: 'hr' };
  const translated = (i18n: JsonObject) => ({
    tag: 'div',
    text: { tag: 'plain_text', content: '付款', i18n_content: i18n },
  });

  it('takes a text in several languages', async () => {
    expect((await send(card(translated({ zh_cn: '付款', en_us: 'Pay' })))).body.code).toBe(0);
  });

  it.each([
    ['an unknown tag', card({ tag: 'marquee' })],
    ['the action tag of version 1', card({ tag: 'action', actions: [] })],
    ['an unknown property', card({ ...hr, colour: 'red' })],
    [
      'an unknown property of the config',
      { ...card(), config: { update_multi: true, wide_screen_mode: true } },
    ],
    ['a card that is not shared', { ...card(), config: { update_multi: false } }],
    ['schema 1', { ...card(), schema: '1.0' }],
    ['201 elements', card(...Array.from({ length: 201 }, () => hr))],
    ['a button without behaviors', card(button({ behaviors: null }))],
    ['a callback value that is text', card(button({ behaviors: [{ type: 'callback', value: 'approve' }] }))],
    [
      'a form inside a column',
      card({ tag: 'column_set', columns: [{ tag: 'column', elements: [form(submit('a'))] }] }),
    ],
    ['a form without a submit button', card(form({ tag: 'input', name: 'reason' }))],
    ['a submit button with behaviors', card(form({ ...submit('a'), behaviors: [] }))],
    ['a form item without a name', card(form(submit('')))],
    ['a name used twice', card(form(submit('a'), submit('a')))],
    ['a text in a language that there is not', card(translated({ en: 'Pay' }))],
    ['a translation that is no text', card(translated({ en_us: { content: 'Pay' } }))],
    ['translations of something that has none', card({ ...hr, i18n_content: { en_us: 'x' } })],
    ['an element id that is too long', card({ ...hr, element_id: 'a'.repeat(21) })],
    ['an element id used twice', card({ ...hr, element_id: 'a' }, { ...hr, element_id: 'a' })],
  ])('refuses a card with %s', async (_name, content) => {
    expect((await send(content)).body.code).toBe(230099);
    expect(standin.messages()).toEqual([]);
  });

  it('takes 200 elements and a form, and tells its listeners', async () => {
    let changes = 0;
    const end = standin.onChange(() => {
      changes += 1;
    });
    await sent(card(...Array.from({ length: 200 }, () => hr)));
    await sent(card(form({ tag: 'input', name: 'reason' }, submit('approve'), submit('reject'))));
    expect(changes).toBe(2);
    end();
    await sent(card());
    expect(changes).toBe(2);
  });

  it('changes shared cards by PATCH and keeps what they showed before', async () => {
    const messageId = await sent(card(button()));
    const { tenant_access_token: token } = await tokenFor();
    const patch = (content: JsonObject, id = messageId) =>
      api('PATCH', `/im/v1/messages/${id}`, { content: JSON.stringify(content) }, token);
    expect((await patch(card())).body.code).toBe(0);
    expect((await patch({ ...card(), config: {} })).body.code).toBe(230001);
    expect((await patch(card(), 'om_none')).body.code).toBe(230001);
    expect(standin.messages()[0]?.contents).toHaveLength(2);
    expect(standin.buttons(messageId)).toEqual([]);
  });

  it('sends replies under the message they answer', async () => {
    const messageId = await sent(card());
    const { tenant_access_token: token } = await tokenFor();
    const body = { msg_type: 'interactive', content: JSON.stringify(card()) };
    expect((await api('POST', `/im/v1/messages/${messageId}/reply`, body, token)).body.code).toBe(0);
    expect(standin.messages()[1]?.replyTo).toBe(messageId);
  });
});

describe('a tap', () => {
  const tapOn = async (content = card(button())) => {
    const messageId = await sent(content);
    return (openId: string = LI_WEI.openId, formValue?: Record<string, string>) =>
      standin.tap({ openId, messageId, element: 0, ...(formValue && { formValue }) });
  };

  it('shows the toast in the person’s own language', async () => {
    const tap = await tapOn();
    const toast = { type: 'success', content: '好', i18n: { zh_cn: '已批准', en_us: 'Approved' } };
    service.answer = { status: 200, body: JSON.stringify({ toast }) };
    expect(await tap()).toEqual({ kind: 'toast', type: 'success', text: '已批准', status: 200 });
    expect(await tap(WANG_FANG.openId)).toMatchObject({ text: 'Approved' });
    expect(standin.toastsOf(LI_WEI.openId)).toHaveLength(1);
  });

  it.each([
    [
      { status: 200, body: '{}' },
      { kind: 'nothing', status: 200 },
    ],
    [
      { status: 200, body: '' },
      { kind: 'client-error', code: 200672, status: 200 },
    ],
    [
      { status: 200, body: '"no handle"' },
      { kind: 'client-error', code: 200672, status: 200 },
    ],
    [
      { status: 200, body: '{"toast":{"type":"loud","content":"x"}}' },
      { kind: 'client-error', code: 200672 },
    ],
    [
      { status: 401, body: '' },
      { kind: 'client-error', code: 200671, status: 401 },
    ],
    [
      { status: 302, body: '{}' },
      { kind: 'client-error', code: 200671, status: 302 },
    ],
  ])('answered with %j shows %j', async (answer, shown) => {
    const tap = await tapOn();
    service.answer = answer;
    expect(await tap()).toMatchObject(shown);
  });

  it('that is not answered within three seconds shows 200341', async () => {
    const tap = await tapOn();
    service.answer = 'never';
    const tapping = tap();
    await until(() => service.seen.length === 1);
    clock.advance(3_000);
    expect(await tapping).toEqual({ kind: 'client-error', code: 200341, status: null });
  });

  it('without a callback URL shows 200340, and with nobody behind it 200342', async () => {
    const tap = await tapOn();
    callbackUrl = null;
    expect(await tap()).toMatchObject({ kind: 'client-error', code: 200340 });
    callbackUrl = 'http://127.0.0.1:1/callback';
    expect(await tap()).toMatchObject({ kind: 'client-error', code: 200342 });
  });

  it('on a link opens it, and a required field left empty never leaves the client', async () => {
    const link = button({ behaviors: [{ type: 'open_url', default_url: 'https://gate.example' }] });
    expect(await (await tapOn(card(link)))()).toEqual({ kind: 'opened', url: 'https://gate.example' });
    const required = form({ tag: 'input', name: 'reason', required: true }, submit('reject'));
    const tap = await tapOn(card(required));
    expect(await tap(LI_WEI.openId, { reason: ' ' })).toEqual({ kind: 'required-missing', input: 'reason' });
    expect(service.seen).toEqual([]);
  });

  it('is replayed byte for byte', async () => {
    const tap = await tapOn();
    await tap();
    expect(await standin.replay()).toEqual({ status: 200, body: '{}' });
    const [first, second] = service.seen;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['x-lark-signature']).toBe(first?.headers['x-lark-signature']);
  });
});

describe('the console’s URL check', () => {
  it('passes only where the challenge comes back', async () => {
    expect(await standin.verifyUrl()).toBe(false);
    expect(service.seen[0]?.headers['x-lark-signature']).toBeUndefined();
    callbackUrl = null;
    expect(await standin.verifyUrl()).toBe(false);
  });
});
