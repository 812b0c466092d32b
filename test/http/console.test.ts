import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { Database } from '../../src/db/database.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { agentId, type ConfirmationId, newRunId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { type Core, person, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';
import {
  API_KEYS,
  auditEvent,
  CONFIG,
  createNeighbours,
  type Neighbours,
  PEOPLE,
  startApp,
  UNKNOWN_ID,
} from './http-fixture.ts';

let database: Database;
let core: Core;
let neighbours: Neighbours;
let app: HttpApp;
let now = Date.parse('2026-11-30T10:00:00Z');
const clock: Clock = { now: () => now, monotonic: () => now, setTimer: () => () => {} };

beforeAll(async () => {
  database = await openPostgres();
  core = startCore(database);
  neighbours = createNeighbours();
  app = start();
  await app.ready();
});

afterAll(async () => {
  await app.close();
  core.stop();
  await database.close();
});

const start = (changes: Partial<AppOptions> = {}) =>
  startApp(changes.config ? createNeighbours() : neighbours, core.service, { clock, ...changes });

const keyOf = (id: string) => PEOPLE.find((candidate) => candidate.id === id)?.consoleKey ?? '';

function signIn(id: string, key: string, headers: Record<string, string> = {}, of: HttpApp = app) {
  return of.inject({
    method: 'POST',
    url: `/requests/${id}/sign-in`,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
    payload: new URLSearchParams({ key }).toString(),
    remoteAddress: headers['x-from'] ?? '10.0.0.1',
  });
}

/** The cookie that a browser would send after this answer. */
const cookieOf = (response: { headers: Record<string, unknown> }) =>
  String(response.headers['set-cookie']).split(';')[0] ?? '';

async function open(id: string, by: string | null, headers: Record<string, string> = {}, query = '') {
  const cookie = by === null ? {} : { cookie: cookieOf(await signIn(id, keyOf(by))) };
  return app.inject({ method: 'GET', url: `/requests/${id}${query}`, headers: { ...cookie, ...headers } });
}

async function decided(args: JsonObject, changes?: Parameters<Core['pending']>[1]): Promise<ConfirmationId> {
  const id = await core.pending(args, changes);
  const argsDigest = (await core.service.get(id))?.argsDigest ?? '';
  await core.service.decide({
    id,
    person: person('wang.fang'),
    verdict: 'reject',
    reason: 'Too <b>dear</b>',
    argsDigest,
    surface: { kind: 'api' },
  });
  return id;
}

describe('the page of one request', () => {
  it('shows everything about it', async () => {
    const id = await decided(
      {
        amount: '68000.00',
        currency: 'CNY',
        payee: 'Acme',
        lines: [{ memo: 'x'.repeat(3000) }, { paid: false }],
      },
      {
        metadata: {
          ask: {
            apiKeyId: 'procurement',
            idempotencyKey: null,
            bodyDigest: '',
            requesterNamedByAgent: true,
            summary: 'Pay Acme',
            metadata: {},
          },
        },
      },
    );
    neighbours.audit.list = async ({ confirmation }) => ({
      items: [{ ...auditEvent(41), confirmation: confirmation ?? null }],
      nextCursor: null,
    });
    const request = await core.service.get(id);
    const response = await open(id, 'wang.fang');
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(response.headers['cache-control']).toBe('no-store');
    const shownAt = ['Amount', 'Currency', 'Payee', 'lines[0].memo'].map((label) =>
      response.body.indexOf(`<bdi>${label}</bdi>`),
    );
    expect(shownAt).not.toContain(-1);
    expect(shownAt).toEqual([...shownAt].sort((left, right) => left - right));
    for (const shown of [
      'Rejected',
      'bank__transfer',
      '68000.00',
      'lines[0].memo',
      'x'.repeat(3000),
      'lines[1].paid',
      'Pay Acme',
      'zhao.min',
      'procurement',
      'owner',
      'large-payment',
      'Too &lt;b&gt;dear&lt;/b&gt;',
      '(Asia/Shanghai, UTC+8)',
      request?.argsDigest ?? '',
      request?.verificationCode ?? '',
      '#41',
      'Signed in: 王芳',
    ]) {
      expect(response.body).toContain(shown);
    }
  });

  it('shows hostile text as text, and what cannot be seen as signs', async () => {
    const id = await decided({
      payee: '"><script>alert(1)</script>',
      memo: 'Acme\u202egnp.\u200b<img src=x onerror=alert(1)>',
      "'><svg/onload=alert(1)>": '`back`',
      link: 'javascript:alert(1)',
    });
    const { body } = await open(id, 'li.wei');
    expect(body).not.toMatch(/<(script|img|svg)/i);
    expect(body).not.toMatch(/href="(?!\/)/);
    expect(body).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(body).toContain('⟨U+202E⟩gnp.⟨U+200B⟩');
    expect(body).not.toMatch(/[\u202e\u200b]/);
    expect(body).toContain('holds characters that cannot be seen');
  });

  it('shows no secret among the arguments, and marks what is masked', async () => {
    const id = await decided({ payee: 'Acme', apiKey: 'q7Zr-44-xyz', note: 'Bearer abcdef0123456789' });
    const { body } = await open(id, 'li.wei');
    expect(body).not.toMatch(/q7Zr-44-xyz|abcdef0123456789/);
    expect(body).toContain('Bearer •••••');
    expect(body.match(/<span class="badge">masked<\/span>/g)).toHaveLength(2);
    expect((await core.service.get(id))?.args).toMatchObject({ apiKey: 'q7Zr-44-xyz' });
  });

  it('says that a person rejected such a call before, and why to who may read that', async () => {
    const session = { sessionId: 'chat-1' };
    const { policy } = core;
    core.policy = { ...policy, id: 'earlier', approvers: [person('li.wei')] };
    const rejected = await core.pending({ payee: 'Acme' }, session);
    const vote = { verdict: 'reject', reason: 'Too <b>dear</b>', argsDigest: null } as const;
    await core.service.decide({ id: rejected, person: person('li.wei'), ...vote, surface: { kind: 'api' } });
    core.policy = { ...policy, approvers: [person('wang.fang')] };
    const id = await core.pending({ payee: 'Acme' }, session);
    core.policy = policy;
    const told = async (reader: string) => {
      const { body } = await open(id, reader);
      expect(body).toContain(`<a href="/requests/${rejected}?lang=en-US">The rejected request</a>`);
      return /<dt>Rejected before<\/dt><dd><bdi>(.*?)<\/bdi>/.exec(body)?.[1] ?? '';
    };
    const known = /^li\.wei · 2\d{3}-.* · the very same call/;
    for (const reader of ['zhao.min', 'chen.jie']) {
      expect(await told(reader)).toMatch(known);
      expect(await told(reader)).toContain(' · “Too &lt;b&gt;dear&lt;/b&gt;”');
    }
    expect(await told('wang.fang')).toMatch(known);
    expect(await told('wang.fang')).not.toContain('dear');
  });

  it('says in the language of the page why the service itself closed it', async () => {
    const run = newRunId();
    const actor = { type: 'run', run, agent: agentId('procurement') } as const;
    const cancelled = await core.pending({ payee: 'Acme' }, { runId: run });
    await core.service.cancel({ id: cancelled, actor, reason: 'run_ended' });
    const revoked = await core.pending({ payee: 'Acme' }, { runId: run });
    const vote = { verdict: 'approve', reason: null, argsDigest: null } as const;
    await core.service.decide({ id: revoked, person: person('li.wei'), ...vote, surface: { kind: 'api' } });
    await core.service.cancel({ id: revoked, actor, reason: 'tool_gone' });
    const words = [
      [cancelled, '发起请求的运行已提前结束（取消、失败或达到上限）', 'The run that asked ended early'],
      [revoked, '代理不再有这个工具', 'The agent has the tool no more'],
    ] as const;
    for (const [id, chinese, english] of words) {
      for (const [locale, text] of [
        ['zh-CN', chinese],
        ['en-US', english],
      ] as const) {
        const { body } = await open(id, 'zhao.min', {}, `?lang=${locale}`);
        expect(body).toContain(text);
        expect(body).not.toMatch(/run_ended|tool_gone/);
      }
    }
  });

  it('runs no script, loads nothing from elsewhere and cannot be framed', async () => {
    const response = await open(await core.pending(), 'li.wei');
    expect(response.headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(response.body).not.toMatch(/https?:\/\/|<script|style=|\son\w+=/);
    const style = await app.inject({ method: 'GET', url: '/console.css' });
    expect([style.statusCode, style.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
    expect(style.body).toContain('prefers-color-scheme: dark');
  });

  it.each([
    ['', 'zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN', '参数（全部）'],
    ['', 'fr;q=0.9, en;q=0.5, zh;q=0.1', 'en-US', 'Arguments, all of them'],
    ['?lang=zh-CN', 'en', 'zh-CN', '参数（全部）'],
    ['?lang=xx', 'xx', 'en-US', 'Arguments, all of them'],
    ['', undefined, 'en-US', 'Arguments, all of them'],
  ])('speaks the reader’s language: %s %s', async (query, accept, lang, shown) => {
    const response = await open(
      await core.pending(),
      'li.wei',
      accept === undefined ? {} : { 'accept-language': accept },
      query,
    );
    expect(response.body).toContain(`<html lang="${lang}">`);
    expect(response.body).toContain(shown);
  });

  it('is for those whom the request concerns, and for the roles that read', async () => {
    const id = await core.pending();
    const statuses: Record<string, number> = {};
    for (const caller of ['zhao.min', 'wang.fang', 'owner', 'chen.jie', 'lin.tao', 'sun.li']) {
      const response = await open(id, caller);
      statuses[caller] = response.statusCode;
      if (response.statusCode === 404) expect(response.body).not.toContain('bank__transfer');
    }
    expect(statuses).toEqual({
      'zhao.min': 200,
      'wang.fang': 200,
      owner: 200,
      'chen.jie': 200,
      'lin.tao': 200,
      'sun.li': 404,
    });
    expect((await open(UNKNOWN_ID, 'li.wei')).statusCode).toBe(404);
    for (const path of ['/requests/x', '/requests/%3Cscript%3E', '/requests/..%2f..']) {
      const response = await app.inject({ method: 'GET', url: path });
      expect(response.statusCode).toBe(404);
      expect(response.body).not.toContain('<script>');
    }
  });
});

describe('signing in', () => {
  it('is asked for first, and says nothing about the request', async () => {
    const id = await core.pending();
    const response = await open(id, null);
    expect(response.statusCode).toBe(401);
    expect(response.body).toContain('type="password"');
    expect(response.body).not.toContain('bank__transfer');
  });

  it('gives a cookie that no script can read and no other site can send', async () => {
    const id = await core.pending();
    const response = await signIn(id, keyOf('wang.fang'));
    expect([response.statusCode, response.headers.location]).toEqual([303, `/requests/${id}?lang=en-US`]);
    expect(String(response.headers['set-cookie'])).toMatch(
      /^countersign=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800$/,
    );
    expect(String(response.headers['set-cookie'])).not.toContain(keyOf('wang.fang'));

    const behindTls = start({ config: { ...CONFIG, publicUrl: 'https://gate.acme.example' } });
    const secure = await signIn(id, keyOf('wang.fang'), {}, behindTls);
    expect(String(secure.headers['set-cookie'])).toMatch(/^__Host-countersign=.*; Secure; /);
    await behindTls.close();
  });

  it.each([
    ['a wrong key', 'nobody has this', 401, 'Nobody has this key'],
    ['no key', '', 401, 'Nobody has this key'],
    ['a key that is no person’s', API_KEYS[4]?.key ?? '', 403, 'This is a program&#39;s key'],
    ['the key of somebody inactive', 'person-key-of-he.ping', 403, 'not active'],
  ])('is refused to %s', async (what, key, status, shown) => {
    const response = await signIn(await core.pending(), key, { 'x-from': `10.2.0.${what.length}` });
    expect(response.statusCode).toBe(status);
    expect(response.headers['set-cookie']).toBeUndefined();
    expect(response.body).toContain(shown);
  });

  it('is limited per address after wrong keys, even with the right one then', async () => {
    const id = await core.pending();
    const from = { 'x-from': '10.3.0.1' };
    for (let index = 0; index < 10; index += 1) await signIn(id, `guess ${index}`, from);
    const limited = await signIn(id, keyOf('wang.fang'), from);
    expect(limited.statusCode).toBe(429);
    expect(limited.headers['set-cookie']).toBeUndefined();
    expect((await signIn(id, keyOf('wang.fang'), { 'x-from': '10.3.0.2' })).statusCode).toBe(303);
  });

  it('is refused to a form of another site', async () => {
    const id = await core.pending();
    const key = keyOf('wang.fang');
    const status = async (headers: Record<string, string>) => (await signIn(id, key, headers)).statusCode;
    expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'none' })).toBe(403);
    const old = async (headers: Record<string, string>) => {
      const response = await app.inject({
        method: 'POST',
        url: `/requests/${id}/sign-in`,
        headers: { host: 'gate.example', 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: `key=${key}`,
      });
      return response.statusCode;
    };
    expect(await old({ origin: 'http://gate.example' })).toBe(303);
    expect(await old({ origin: 'http://evil.example' })).toBe(403);
    expect(await old({ origin: 'null' })).toBe(403);
    expect(await old({})).toBe(403);
  });

  it('holds for 8 hours, for this person and this key only, and cannot be forged', async () => {
    const id = await core.pending();
    const cookie = cookieOf(await signIn(id, keyOf('zhao.min')));
    const status = async (value: string, of: HttpApp = app) =>
      (await of.inject({ method: 'GET', url: `/requests/${id}`, headers: { cookie: value } })).statusCode;
    expect(await status(cookie)).toBe(200);
    expect(await status(`a=b; ${cookie}; c=d`)).toBe(200);

    const [, claims = ''] = cookie.split('=');
    const [who, until, mac] = claims.split('.');
    const liWei = Buffer.from('li.wei').toString('base64url');
    for (const forged of [
      `countersign=${liWei}.${until}.${mac}`,
      `countersign=${who}.${Number(until) + 1}.${mac}`,
      `countersign=${who}.${until}.${'A'.repeat(43)}`,
      `countersign=${who}.${until}.`,
      `countersign=${who}.${until}`,
      `${cookie}; ${cookie}`,
      'countersign=',
    ]) {
      expect(await status(forged)).toBe(401);
    }

    const people = PEOPLE.map((one) => (one.id === 'zhao.min' ? { ...one, consoleKey: 'a new key' } : one));
    const gone = PEOPLE.map((one) => (one.id === 'zhao.min' ? { ...one, active: false } : one));
    for (const config of [
      { ...CONFIG, people },
      { ...CONFIG, people: gone },
    ]) {
      const later = start({ config });
      expect(await status(cookie, later)).toBe(401);
      await later.close();
    }
    const replica = start({ config: CONFIG });
    expect(await status(cookie, replica)).toBe(200);
    await replica.close();

    now += 8 * 3_600_000;
    expect(await status(cookie)).toBe(401);
  });

  it('survives a click in a chat in the browser, whose first step brings no strict cookie', async () => {
    const id = await core.pending();
    const step = await open(id, null, { 'sec-fetch-site': 'cross-site' });
    expect(step.statusCode).toBe(200);
    expect(step.body).toContain(`<meta http-equiv="refresh" content="0; url=/requests/${id}">`);
    expect(step.body).not.toContain('bank__transfer');
    expect((await open(id, null, { 'sec-fetch-site': 'same-origin' })).statusCode).toBe(401);
  });

  it('ends by signing out', async () => {
    const id = await core.pending();
    const response = await app.inject({
      method: 'POST',
      url: `/requests/${id}/sign-out`,
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    expect([response.statusCode, response.headers['set-cookie']]).toEqual([
      303,
      'countersign=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
  });

  it('takes no body but a small form', async () => {
    const id = await core.pending();
    const send = async (payload: string, type: string) => {
      const response = await app.inject({
        method: 'POST',
        url: `/requests/${id}/sign-in`,
        headers: { 'content-type': type, 'sec-fetch-site': 'same-origin' },
        payload,
      });
      return response.statusCode;
    };
    expect(await send('{"key":"x"}', 'application/json')).toBe(415);
    expect(await send(`key=${'x'.repeat(5000)}`, 'application/x-www-form-urlencoded')).toBe(413);
  });
});

describe('the address of the service itself', () => {
  const home = (headers: Record<string, string>) => app.inject({ method: 'GET', url: '/', headers });

  it('tells a browser, in its language, where the pages of requests are', async () => {
    const accept = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8';
    for (const [language, words] of [
      ['zh-CN,zh;q=0.9', '查看完整请求'],
      ['en-GB,en;q=0.9', 'Full request'],
    ] as const) {
      const response = await home({ accept, 'accept-language': language });
      expect(response.statusCode).toBe(200);
      expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(response.headers['content-security-policy']).toContain("default-src 'none'");
      expect(response.body).toContain(words);
      expect(response.body).toContain('href="/docs"');
    }
  });

  it('tells a program its name and where to read on', async () => {
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      const response = await home(headers);
      expect(response.headers).toMatchObject({ vary: 'accept, accept-language' });
      const { name, links } = response.json();
      expect(name).toBe('Countersign');
      for (const link of Object.values<string>(links))
        expect((await app.inject({ method: 'GET', url: link })).statusCode).toBeLessThan(400);
    }
  });
});

describe('an outcome that nobody knows', () => {
  const ACTOR = { type: 'key', id: 'procurement', agent: agentId('procurement') } as const;

  async function unknown(): Promise<ConfirmationId> {
    const id = await core.pending();
    const request = await core.service.get(id);
    if (!request) throw new Error('the request is gone');
    const { args, argsDigest } = request;
    const by = { person: person('wang.fang'), reason: null, surface: { kind: 'api' as const } };
    await core.service.decide({ id, verdict: 'approve', argsDigest, ...by });
    await core.service.claim({ id, actor: ACTOR, args });
    await core.service.recordOutcome({ id, actor: ACTOR, status: 'unknown', detail: 'connection lost' });
    return id;
  }

  async function say(
    id: string,
    by: string | null,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ) {
    const cookie = by === null ? {} : { cookie: cookieOf(await signIn(id, keyOf(by))) };
    return app.inject({
      method: 'POST',
      url: `/requests/${id}/settlement?lang=zh-CN`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        ...cookie,
        ...headers,
      },
      payload: new URLSearchParams(fields).toString(),
    });
  }

  it('is settled on the page by an approver, in their words, however long, and the next one is told so', async () => {
    const id = await unknown();
    const page = await open(id, 'li.wei', {}, '?lang=zh-CN');
    expect(page.body).toContain(`action="/requests/${id}/settlement?lang=zh-CN"`);
    expect(page.body).toContain('<button name="status" value="succeeded">已经成功</button>');
    // The tool of an outside agent is not ours to run again.
    expect(page.body).not.toContain('value="run_again"');
    const detail = '银行流水里查到了。\n'.repeat(200);
    const told = await say(id, 'li.wei', { status: 'succeeded', detail: detail.replaceAll('\n', '\r\n') });
    expect([told.statusCode, told.headers.location]).toEqual([303, `/requests/${id}?lang=zh-CN`]);
    expect(await core.service.get(id)).toMatchObject({
      execution: {
        status: 'succeeded',
        source: 'settlement',
        detail: detail.trim(),
        settledBy: { id: 'li.wei' },
      },
    });
    const late = await say(id, 'wang.fang', { status: 'failed', detail: 'x' });
    expect(late.statusCode).toBe(409);
    expect(late.body).toMatch(/<p class="error" role="alert">li.wei .*登记为成功，你的操作没有生效/);
    expect(late.body).not.toContain('<textarea');
    expect(await core.service.get(id)).toMatchObject({ execution: { status: 'succeeded' } });
  });

  it('stays unknown where the form is not an approver’s, is no form of ours, or says nothing', async () => {
    const id = await unknown();
    const said = { status: 'succeeded', detail: 'seen' };
    const statusOf = async (...input: Parameters<typeof say>) => (await say(...input)).statusCode;
    expect((await open(id, 'lin.tao')).body).not.toContain('<textarea');
    expect(await statusOf(id, 'zhao.min', said)).toBe(403);
    expect(await statusOf(id, 'sun.li', said)).toBe(404);
    expect(await statusOf(UNKNOWN_ID, 'li.wei', said)).toBe(404);
    expect(await statusOf(id, null, said)).toBe(401);
    expect(await statusOf(id, 'li.wei', said, { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await statusOf(id, 'li.wei', { ...said, detail: ' \r\n' })).toBe(422);
    expect(await statusOf(id, 'li.wei', { ...said, detail: '不'.repeat(2_001) })).toBe(422);
    expect(await statusOf(id, 'li.wei', { ...said, status: 'approved' })).toBe(422);
    const again = await say(id, 'li.wei', { ...said, status: 'run_again' });
    expect(again.statusCode).toBe(409);
    expect(again.body).toContain('这次调用不能再执行');
    expect(await core.service.get(id)).toMatchObject({ execution: { status: 'unknown', rerun: null } });
  });
});
