import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { until } from '../support/until.ts';
import { nodes, texts } from './fakes/slack.ts';
import type { Confirmation } from './shapes.ts';
import { accounts, keys, startWorld, type World } from './world.ts';

vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const payment = { memo: 'PO 7', currency: 'CNY', amount: '60000.00', payee: 'ACME 有限公司' };
const small = { payee: 'ACME', amount: '10', currency: 'CNY' };

describe.each(['pglite', 'postgres'])('Feishu on %s', (database) => {
  let world: World;
  /** Feishu took its card and did not answer; until that is known, the other tests go on. */
  let lost: Confirmation;
  beforeAll(async () => {
    world = await startWorld({
      name: 'feishu',
      postgresUrl: database === 'postgres' ? inject('postgresUrl') : undefined,
      change: (config) => ({ ...config, locale: 'zh-CN' }),
    });
    lost = await askUnanswered();
  });
  afterAll(() => world?.stop());
  afterEach(() => {
    world.feishu.disturb = () => undefined;
  });

  const ask = async (tool: string, args: unknown = small, more = {}): Promise<Confirmation> => {
    const asked = await world.gate.ask({ tool, args, agent: 'procurement', ...more }, keys.agent);
    expect(asked.status, asked.text).toBe(201);
    return asked.body.confirmation;
  };
  const askUnanswered = async (): Promise<Confirmation> => {
    let accepted = false;
    world.feishu.disturb = (call) => {
      if (call !== 'POST /open-apis/im/v1/messages' || accepted) return undefined;
      accepted = true;
      return 'accept-and-hang';
    };
    const one = await ask('oa__purchase_pay', { ...small, memo: 'lost answer' });
    await until(() => accepted, { what: 'its card taken' });
    world.feishu.disturb = () => undefined;
    return one;
  };
  const posted = async (tool: string, args: unknown = small, more = {}) => {
    const one = await ask(tool, args, more);
    return { one, id: await world.gate.card(one.id, 'pay-feishu', keys.liWei) };
  };
  const read = async (one: Confirmation) => (await world.gate.confirmation(one.id, keys.liWei)).body;
  const shown = (id: string) => texts(world.feishu.message(id).card).join('\n');
  const toast = (answer: { status: number; text: string }) => {
    expect(answer.status).toBe(200);
    const { toast } = JSON.parse(answer.text) as { toast: { type: string; content: string } };
    expect(toast.content, 'in the locale').toMatch(/\p{Script=Han}/u);
    return toast;
  };

  it('posts a card that shows everything a card shows', async () => {
    const { one, id } = await posted('bank__transfer', payment, { requester: 'sun.li' });
    const sent = world.feishu
      .called('POST /open-apis/im/v1/messages')
      .findLast((body) => JSON.stringify(body).includes(one.id));
    expect(sent).toMatchObject({ msg_type: 'interactive', uuid: expect.stringMatching(/.+/) });
    const { card } = world.feishu.message(id);
    expect(card).toMatchObject({ schema: '2.0', config: { update_multi: true } });
    const lines = texts(card).flatMap((text) => text.split('\n'));
    for (const value of Object.values(payment))
      expect(lines.filter((line) => line.includes(value)).length, value).toBeGreaterThan(0);
    const line = (part: string) =>
      lines.findLastIndex((candidate) => candidate.includes(part) && !candidate.includes('bank__'));
    for (const decisive of ['60000.00', 'CNY', 'ACME']) expect(line(decisive)).toBeLessThan(line('memo'));
    const all = shown(id);
    for (const part of [
      'bank__transfer',
      'procurement',
      '孙丽',
      'large-payment',
      '0/2',
      one.verificationCode,
    ])
      expect(all, part).toContain(part);
    expect(all).toMatch(/\d{4}-\d{2}-\d{2} \d{2}:\d{2} \(Asia\/Shanghai, UTC\+8\)/);
    expect(JSON.stringify(card)).toContain('https://gate.acme.example/');
    expect(world.feishu.action(id, 'approve')).toMatchObject({
      value: { action: 'approve', request: one.id },
    });
    expect(world.feishu.action(id, 'reject')).toMatchObject({ value: { action: 'reject', request: one.id } });
    expect(nodes(card).filter((node) => node.tag === 'markdown' || node.tag === 'lark_md')).toEqual([]);
  });

  it('shows one verification code on both platforms and in the API', async () => {
    const { one, id } = await posted('bank__transfer', payment);
    const ts = await world.gate.card(one.id, 'pay-slack', keys.liWei);
    expect(shown(id)).toContain(one.verificationCode);
    expect(texts(world.slack.message(ts).blocks).join('\n')).toContain(one.verificationCode);
    expect(one.verificationCode).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
  });

  it('decides by taps of two people, with toasts, live on the card by PATCH', async () => {
    const { one, id } = await posted('bank__transfer', payment);
    expect(toast(await world.feishu.tap(id, 'approve', accounts.liWei.feishu)).type).toMatch(/success|info/);
    await until(() => shown(id).includes('1/2') && shown(id).includes('李伟'));
    toast(await world.feishu.tap(id, 'approve', accounts.liWei.feishu));
    expect((await read(one)).votes).toMatchObject([{ channel: 'pay-feishu' }]);
    expect(toast(await world.feishu.tap(id, 'approve', accounts.wangFang.feishu)).type).toBe('success');
    expect((await read(one)).status).toBe('approved');
    await until(() => !world.feishu.action(id, 'approve') && shown(id).includes('王芳'));
    expect(shown(id)).toContain('2/2');
    expect(world.feishu.called(`PATCH /open-apis/im/v1/messages/${id}`).length).toBeGreaterThanOrEqual(2);
  });

  it('answers everybody who may not with a toast and changes nothing', async () => {
    const { one, id } = await posted('bank__transfer', small, { requester: 'wang.fang' });
    for (const who of [accounts.qianYi, accounts.stranger, accounts.wangFang])
      expect(toast(await world.feishu.tap(id, 'approve', who.feishu)).type).not.toBe('success');
    expect(await read(one)).toMatchObject({ status: 'pending', votes: [] });
    const action = world.feishu.action(id, 'approve') ?? {};
    await world.feishu.tap(id, 'reject', accounts.liWei.feishu);
    const late = toast(await world.feishu.send(world.feishu.callback(id, action, accounts.sunLi.feishu)));
    expect(late.content).toContain('李伟');
    expect(late.type).not.toBe('success');
    expect((await read(one)).status).toBe('rejected');
  });

  it('asks for a reason by a form whose submit buttons carry names and no behaviors', async () => {
    const { one, id } = await posted('bank__explain');
    const { card } = world.feishu.message(id);
    const form = nodes(card).find((node) => node.tag === 'form');
    expect(form).toBeDefined();
    expect(nodes(form).some((node) => node.tag === 'input' && node.name === 'reason')).toBe(true);
    for (const node of nodes(form)) expect(node.behaviors).toBeUndefined();
    const names = nodes(form).flatMap((node) => (typeof node.name === 'string' ? [node.name] : []));
    expect(new Set(names).size).toBe(names.length);
    expect(toast(await world.feishu.tap(id, 'approve', accounts.liWei.feishu, '  ')).type).not.toBe(
      'success',
    );
    expect((await read(one)).status).toBe('pending');
    toast(await world.feishu.tap(id, 'approve', accounts.liWei.feishu, '凭证齐全 "ok"'));
    expect(await read(one)).toMatchObject({ status: 'approved', votes: [{ reason: '凭证齐全 "ok"' }] });
    await until(() => shown(id).includes('凭证齐全 "ok"'));
  });

  it('needs no reason to approve where only a rejection wants one', async () => {
    const approved = await posted('bank__on_reject');
    toast(await world.feishu.tap(approved.id, 'approve', accounts.liWei.feishu, ''));
    expect((await read(approved.one)).status).toBe('approved');
    const rejected = await posted('bank__on_reject');
    expect(toast(await world.feishu.tap(rejected.id, 'reject', accounts.liWei.feishu, '')).type).not.toBe(
      'success',
    );
    expect((await read(rejected.one)).status).toBe('pending');
    toast(await world.feishu.tap(rejected.id, 'reject', accounts.liWei.feishu, '预算不足'));
    expect(await read(rejected.one)).toMatchObject({ status: 'rejected', votes: [{ reason: '预算不足' }] });
  });

  it('brings the card to its final state on expiry, cancellation and outcome', async () => {
    const expired = await posted('bank__quick');
    const action = world.feishu.action(expired.id, 'approve') ?? {};
    await until(
      () => !world.feishu.action(expired.id, 'approve') && /过期|超时|失效/.test(shown(expired.id)),
    );
    expect(
      toast(await world.feishu.send(world.feishu.callback(expired.id, action, accounts.liWei.feishu))).type,
    ).not.toBe('success');
    const cancelled = await posted('bank__transfer');
    await world.gate.call('POST', `/v1/confirmations/${cancelled.one.id}/cancel`, {
      key: keys.agent,
      body: {},
    });
    await until(() => !world.feishu.action(cancelled.id, 'approve') && /取消|撤/.test(shown(cancelled.id)));
    const ran = await posted('bank__transfer');
    await world.feishu.tap(ran.id, 'approve', accounts.liWei.feishu);
    await until(() => !world.feishu.action(ran.id, 'approve'));
    const before = shown(ran.id);
    const path = `/v1/confirmations/${ran.one.id}`;
    await world.gate.call('POST', `${path}/claim`, { key: keys.agent, body: { args: ran.one.args } });
    await world.gate.call('POST', `${path}/outcome`, {
      key: keys.agent,
      body: { status: 'succeeded', detail: 'R-9' },
    });
    await until(() => shown(ran.id) !== before && /成功/.test(shown(ran.id)));
  });

  it.each([
    ['another tenant', { operator: { tenant_key: 'other', open_id: 'ou_liwei', union_id: 'on_x' } }],
    ['another chat', { context: { open_message_id: 'same', open_chat_id: 'oc_other' } }],
    ['another message', { context: { open_message_id: 'om_other', open_chat_id: 'oc_finance' } }],
  ])('changes nothing for a signed tap from %s and tells the person', async (_what, changes) => {
    const { one, id } = await posted('bank__transfer');
    const answer = await world.feishu.tap(id, 'approve', accounts.liWei.feishu, undefined, changes);
    expect(toast(answer).type).not.toBe('success');
    expect(await read(one)).toMatchObject({ status: 'pending', votes: [] });
  });

  it('refuses a callback whose proof is wrong with 401', async () => {
    const { one, id } = await posted('bank__transfer');
    const event = world.feishu.callback(id, world.feishu.action(id, 'approve') ?? {}, accounts.liWei.feishu);
    const body = JSON.stringify({ encrypt: world.feishu.encrypt(JSON.stringify(event)) });
    const now = Math.floor(Date.now() / 1000);
    for (const options of [{ key: 'other' }, { at: now - 301 }, { at: now + 310 }, { unsigned: true }])
      expect((await world.feishu.sendRaw(body, options)).status).toBe(401);
    expect((await world.feishu.sendRaw(JSON.stringify(event))).status, 'not encrypted').toBe(401);
    const wrongToken = { ...event, header: { ...event.header, token: 'wrong' } };
    expect((await world.feishu.send(wrongToken)).status, 'another verification token').toBe(401);
    expect((await read(one)).status).toBe('pending');
  });

  it('answers the URL check, encrypted and without a signature, by its token alone', async () => {
    const check = (token: string) =>
      JSON.stringify({
        encrypt: world.feishu.encrypt(JSON.stringify({ challenge: 'ch-1', token, type: 'url_verification' })),
      });
    const answer = await world.feishu.sendRaw(check(world.feishu.verificationToken), { unsigned: true });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { challenge: 'ch-1' }]);
    expect((await world.feishu.sendRaw(check('wrong'), { unsigned: true })).status).toBe(401);
  });

  it('has the effect of one tap for the same callback many times', async () => {
    const { one, id } = await posted('bank__transfer', payment);
    const event = world.feishu.callback(id, world.feishu.action(id, 'approve') ?? {}, accounts.liWei.feishu);
    const answers = await Promise.all(Array.from({ length: 5 }, () => world.feishu.send(event)));
    for (const answer of answers) toast(answer);
    expect((await read(one)).votes).toHaveLength(1);
  });

  it('shows hostile text as it is and keeps within 30 KB', async () => {
    const hostile = 'a_b*c#1|[x](y) 50% <at id=all></at> **x** a\u202Eb';
    const { one, id } = await posted('bank__transfer', {
      ...small,
      payee: hostile,
      memo: '长'.repeat(40_000),
    });
    const { card } = world.feishu.message(id);
    expect(shown(id)).toContain('a_b*c#1|[x](y) 50% <at id=all></at> **x**');
    expect(JSON.stringify(card)).not.toContain('\u202E');
    const body = world.feishu
      .called('POST /open-apis/im/v1/messages')
      .find((sent) => String(sent.content).includes(one.id));
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(30 * 1024);
    expect(shown(id).isWellFormed()).toBe(true);
  });

  it('ends undeliverable at once where its only channel refuses for good', async () => {
    world.feishu.disturb = (call) =>
      call === 'POST /open-apis/im/v1/messages'
        ? { status: 400, json: { code: 230002, msg: 'bot not in chat' } }
        : undefined;
    const one = await ask('oa__purchase_pay');
    const ended = await world.gate.confirmation(one.id, keys.agent, '?wait=10s');
    expect(ended.body).toMatchObject({ status: 'undeliverable', deliveries: [{ state: 'failed' }] });
  });

  it.each([
    ['a 200 that says rate limited', { json: { code: 99991400, msg: 'request trigger frequency limit' } }],
    [
      'a 429',
      { status: 429, headers: { 'x-ogw-ratelimit-reset': '1' }, json: { code: 99991400, msg: 'limit' } },
    ],
    ['a 500', { status: 500, json: { code: 1, msg: 'internal' } }],
    ['a token refused', { status: 400, json: { code: 99991663, msg: 'Invalid access token' } }],
  ])('posts at last, once, after %s', async (what, reply) => {
    let failures = 0;
    world.feishu.disturb = (call) => {
      if (call !== 'POST /open-apis/im/v1/messages' || failures >= 1) return undefined;
      failures += 1;
      return reply;
    };
    const one = await ask('oa__purchase_pay', { ...small, memo: what });
    await until(async () => (await read(one)).deliveries[0]?.state === 'sent', { deadlineMs: 25_000 });
    const cards = [...world.feishu.messages.values()].filter((message) =>
      JSON.stringify(message.card).includes(one.id),
    );
    expect(cards).toHaveLength(1);
  });

  it('posts one card where Feishu took it and the answer was lost', async () => {
    await until(async () => (await read(lost)).deliveries[0]?.state === 'sent', { deadlineMs: 28_000 });
    const cards = [...world.feishu.messages.values()].filter((message) =>
      JSON.stringify(message.card).includes(lost.id),
    );
    expect(cards).toHaveLength(1);
  });
});
