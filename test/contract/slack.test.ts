import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { until } from '../support/until.ts';
import { nodes, texts } from './fakes/slack.ts';
import type { Confirmation } from './shapes.ts';
import { accounts, keys, startWorld, type World } from './world.ts';

vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const payment = { memo: 'PO 7', currency: 'CNY', amount: '60000.00', payee: 'ACME 有限公司' };
const small = { payee: 'ACME', amount: '10', currency: 'CNY' };

describe.each(['pglite', 'postgres'])('Slack on %s', (database) => {
  let world: World;
  /** Slack took its card and did not answer; until that is known, the other tests go on. */
  let lost: Confirmation;
  beforeAll(async () => {
    world = await startWorld({
      name: 'slack',
      postgresUrl: database === 'postgres' ? inject('postgresUrl') : undefined,
    });
    lost = await askUnanswered();
  });
  afterAll(() => world?.stop());
  afterEach(() => {
    world.slack.disturb = () => undefined;
  });

  const ask = async (tool: string, args: unknown = small, more = {}): Promise<Confirmation> => {
    const asked = await world.gate.ask({ tool, args, agent: 'procurement', ...more }, keys.agent);
    expect(asked.status, asked.text).toBe(201);
    return asked.body.confirmation;
  };
  const askUnanswered = async (): Promise<Confirmation> => {
    let accepted = false;
    world.slack.disturb = (method) => {
      if (method !== 'chat.postMessage' || accepted) return undefined;
      accepted = true;
      return 'accept-and-hang';
    };
    const one = await ask('bank__slack_only', { note: 'lost answer' });
    await until(() => accepted, { what: 'its card taken' });
    world.slack.disturb = () => undefined;
    return one;
  };
  const posted = async (tool: string, args: unknown = small, more = {}) => {
    const one = await ask(tool, args, more);
    return { one, ts: await world.gate.card(one.id, 'pay-slack', keys.liWei) };
  };
  const read = async (one: Confirmation) => (await world.gate.confirmation(one.id, keys.liWei)).body;
  const shown = (ts: string) => texts(world.slack.message(ts).blocks).join('\n');
  const told = (user: string) =>
    world.slack
      .called('chat.postEphemeral')
      .filter((body) => body.user === user)
      .map((body) => String(body.text ?? '') + texts(body.blocks ?? []).join('\n'));

  it('posts a card that shows everything a card shows', async () => {
    const { one, ts } = await posted('bank__transfer', payment, { requester: 'sun.li' });
    const lines = texts(world.slack.message(ts).blocks).flatMap((text) => text.split('\n'));
    const line = (pattern: RegExp) => lines.findIndex((candidate) => pattern.test(candidate));
    for (const [name, value] of Object.entries(payment))
      expect(line(new RegExp(`${name}.*${value.replace('.', '\\.')}`, 'i')), name).toBeGreaterThanOrEqual(0);
    for (const decisive of [/amount.*60000\.00/i, /currency.*CNY/i, /payee.*ACME/i])
      expect(line(decisive)).toBeLessThan(line(/memo/i));
    const all = shown(ts);
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
    expect(JSON.stringify(world.slack.message(ts).blocks)).toContain(`https://gate.acme.example/`);
    expect(JSON.stringify(world.slack.message(ts).blocks)).toContain(one.id);
    for (const what of ['approve', 'reject'] as const)
      expect(String(world.slack.button(ts, what)?.value)).toContain(one.id);
    expect(nodes(world.slack.message(ts).blocks).some((node) => node.type === 'mrkdwn')).toBe(false);
  });

  it('decides by taps of two people, live on both cards, and answers 200 at once', async () => {
    const { one, ts } = await posted('bank__transfer', payment);
    const om = await world.gate.card(one.id, 'pay-feishu', keys.liWei);
    const first = await world.slack.tap(ts, 'approve', accounts.liWei.slack);
    expect(first.status).toBe(200);
    expect((await read(one)).votes).toMatchObject([
      { person: { id: 'li.wei' }, verdict: 'approve', channel: 'pay-slack' },
    ]);
    await until(() => shown(ts).includes('1/2'));
    await until(() => texts(world.feishu.message(om).card).join('\n').includes('1/2'));
    expect(shown(ts)).toContain('李伟');
    await world.slack.tap(ts, 'approve', accounts.liWei.slack);
    expect((await read(one)).status, 'one person twice').toBe('pending');
    await world.slack.tap(ts, 'approve', accounts.wangFang.slack);
    expect((await read(one)).status).toBe('approved');
    await until(() => !world.slack.button(ts, 'approve') && !world.slack.button(ts, 'reject'));
    await until(() => !world.feishu.action(om, 'approve'));
    expect(shown(ts)).toMatch(/李伟[\s\S]*王芳|王芳[\s\S]*李伟/);
    expect(shown(ts)).toContain('2/2');
  });

  it('counts Slack and Feishu accounts of one person once', async () => {
    const { one, ts } = await posted('bank__transfer', payment);
    const om = await world.gate.card(one.id, 'pay-feishu', keys.liWei);
    await world.slack.tap(ts, 'approve', accounts.liWei.slack);
    await world.feishu.tap(om, 'approve', accounts.liWei.feishu);
    const state = await read(one);
    expect(state.status).toBe('pending');
    expect(state.votes).toHaveLength(1);
  });

  it('shows at the end whether it ran', async () => {
    const { one, ts } = await posted('bank__transfer');
    await world.slack.tap(ts, 'approve', accounts.liWei.slack);
    await until(() => !world.slack.button(ts, 'approve'));
    const before = shown(ts);
    const path = `/v1/confirmations/${one.id}`;
    await world.gate.call('POST', `${path}/claim`, { key: keys.agent, body: { args: one.args } });
    await world.gate.call('POST', `${path}/outcome`, {
      key: keys.agent,
      body: { status: 'failed', detail: 'account closed' },
    });
    await until(() => shown(ts) !== before && /fail/i.test(shown(ts)));
  });

  it('shows rejection with its reason, expiry and cancellation', async () => {
    const rejected = await posted('bank__transfer');
    await world.gate.call('POST', `/v1/confirmations/${rejected.one.id}/votes`, {
      key: keys.sunLi,
      body: { verdict: 'reject', reason: 'wrong payee & <b>', argsDigest: rejected.one.argsDigest },
    });
    await until(
      () => shown(rejected.ts).includes('wrong payee & <b>') && shown(rejected.ts).includes('孙丽'),
    );
    const expired = await posted('bank__quick');
    await until(() => /expired/i.test(shown(expired.ts)) && !world.slack.button(expired.ts, 'approve'));
    const cancelled = await posted('bank__transfer');
    await world.gate.call('POST', `/v1/confirmations/${cancelled.one.id}/cancel`, {
      key: keys.agent,
      body: {},
    });
    await until(() => /cancel/i.test(shown(cancelled.ts)) && !world.slack.button(cancelled.ts, 'reject'));
  });

  it('opens a modal for a reason; only its submission decides', async () => {
    const { one, ts } = await posted('bank__on_reject');
    const opened = world.slack.called('views.open').length;
    await world.slack.tap(ts, 'reject', accounts.liWei.slack);
    await until(() => world.slack.called('views.open').length > opened);
    expect(world.slack.lastView().callback_id).toBe('countersign.reason');
    expect(world.slack.lastView().type).toBe('modal');
    expect((await read(one)).status).toBe('pending');
    const empty = await world.slack.submit('   ', accounts.liWei.slack);
    expect([empty.status, JSON.parse(empty.text)]).toMatchObject([200, { response_action: 'errors' }]);
    const foreign = await world.slack.submit('not mine', accounts.qianYi.slack);
    expect(foreign.status).toBe(200);
    expect(foreign.text, 'answered in the modal').toContain('response_action');
    expect((await read(one)).status).toBe('pending');
    const done = await world.slack.submit('no budget "left"\n再议', accounts.liWei.slack);
    expect(done.status).toBe(200);
    expect(done.text).not.toContain('errors');
    expect(await read(one)).toMatchObject({
      status: 'rejected',
      votes: [{ person: { id: 'li.wei' }, reason: 'no budget "left"\n再议', channel: 'pay-slack' }],
    });
    const late = await world.slack.submit('again', accounts.wangFang.slack);
    expect(late.text, 'a late submission is answered in the modal').toContain('response_action');
  });

  it('approves on a tap alone where only a rejection wants a reason, and opens the modal for both where always', async () => {
    const onReject = await posted('bank__on_reject');
    await world.slack.tap(onReject.ts, 'approve', accounts.liWei.slack);
    expect((await read(onReject.one)).status).toBe('approved');
    const always = await posted('bank__explain');
    const opened = world.slack.called('views.open').length;
    await world.slack.tap(always.ts, 'approve', accounts.liWei.slack);
    await until(() => world.slack.called('views.open').length > opened);
    expect((await read(always.one)).status).toBe('pending');
    await world.slack.submit('all papers are here', accounts.liWei.slack);
    expect(await read(always.one)).toMatchObject({
      status: 'approved',
      votes: [{ reason: 'all papers are here' }],
    });
  });

  it('says so by an ephemeral when the modal cannot be opened, and changes nothing', async () => {
    const { one, ts } = await posted('bank__explain');
    world.slack.disturb = (method) =>
      method === 'views.open' ? { json: { ok: false, error: 'expired_trigger_id' } } : undefined;
    const before = told('U0LIWEI').length;
    expect((await world.slack.tap(ts, 'approve', accounts.liWei.slack)).status).toBe(200);
    await until(() => told('U0LIWEI').length > before);
    expect(await read(one)).toMatchObject({ status: 'pending', votes: [] });
  });

  it('tells everybody who may not decide, by an ephemeral', async () => {
    const { one, ts } = await posted('bank__transfer', small, { requester: 'wang.fang' });
    for (const who of [accounts.qianYi, accounts.stranger, accounts.wangFang]) {
      const answer = await world.slack.tap(ts, 'approve', who.slack);
      expect(answer.status).toBe(200);
      await until(() => told(who.slack.user).length > 0, { what: `an ephemeral for ${who.slack.user}` });
    }
    expect((await read(one)).status).toBe('pending');
    await world.slack.tap(ts, 'approve', accounts.liWei.slack);
    expect((await read(one)).status).toBe('approved');
    const before = told('U0SUN').length;
    const card = world.slack.message(ts).blocks;
    await until(() => told('U0SUN').length === before);
    expect(card).toBeDefined();
  });

  it('tells a late tap on an old card who decided', async () => {
    const { one, ts } = await posted('bank__transfer');
    const button = world.slack.button(ts, 'approve') ?? {};
    const payload = world.slack.tapPayload(ts, button, accounts.sunLi.slack);
    await world.slack.tap(ts, 'reject', accounts.liWei.slack);
    expect((await read(one)).status).toBe('rejected');
    const before = told('U0SUN').length;
    expect((await world.slack.send(payload)).status).toBe(200);
    await until(() =>
      told('U0SUN')
        .slice(before)
        .some((text) => text.includes('李伟')),
    );
    expect((await read(one)).status).toBe('rejected');
  });

  it.each([
    ['another team', { user: { id: 'U0LIWEI', team_id: 'T0OTHER' }, team: { id: 'T0OTHER', domain: 'x' } }],
    ['another app', { api_app_id: 'A0OTHER' }],
    [
      'another channel',
      {
        channel: { id: 'C0OTHER', name: 'x' },
        container: { type: 'message', message_ts: 'same', channel_id: 'C0OTHER' },
      },
    ],
    [
      'another message',
      {
        container: { type: 'message', message_ts: '1600000000.000100', channel_id: 'C0FINANCE' },
        message: { ts: '1600000000.000100' },
      },
    ],
  ])('changes nothing for a signed tap from %s, and records it', async (_what, changes) => {
    const { one, ts } = await posted('bank__transfer');
    const answer = await world.slack.tap(ts, 'approve', accounts.liWei.slack, changes);
    expect(answer.status).toBe(200);
    expect(await read(one)).toMatchObject({ status: 'pending', votes: [] });
    await until(async () => {
      const events = await world.gate.events('kind=callback.refused&limit=100', keys.auditor);
      return events.body.items.some(
        (event) => JSON.stringify(event).includes(one.id) || event.confirmation === one.id || event.data,
      );
    });
  });

  it('refuses a callback whose proof is wrong with 401 and nothing else', async () => {
    const { one, ts } = await posted('bank__transfer');
    const payload = world.slack.tapPayload(ts, world.slack.button(ts, 'approve') ?? {}, accounts.liWei.slack);
    const body = `payload=${encodeURIComponent(JSON.stringify(payload))}`;
    const now = Math.floor(Date.now() / 1000);
    for (const options of [{ secret: 'other' }, { at: now - 301 }, { at: now + 310 }]) {
      const answer = await world.slack.sendRaw(body, options);
      expect(answer.status).toBe(401);
      expect(answer.text).not.toMatch(/signature|timestamp|secret/i);
    }
    const bare = await world.gate.call('POST', '/channels/pay-slack/callback', {
      raw: body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(bare.status).toBe(401);
    expect((await read(one)).status).toBe('pending');
  });

  it('answers an honest tap among many forged ones, each refused with 401', async () => {
    const { one, ts } = await posted('bank__transfer');
    const forged = Array.from({ length: 150 }, () =>
      world.slack.sendRaw('payload=%7B%7D', { secret: 'other' }),
    );
    expect(new Set((await Promise.all(forged)).map((answer) => answer.status))).toEqual(new Set([401]));
    expect((await world.slack.tap(ts, 'approve', accounts.liWei.slack)).status).toBe(200);
    expect((await read(one)).status).toBe('approved');
  });

  it('has the effect of one tap for the same callback many times', async () => {
    const { one, ts } = await posted('bank__transfer', payment);
    const payload = world.slack.tapPayload(ts, world.slack.button(ts, 'approve') ?? {}, accounts.liWei.slack);
    const answers = await Promise.all(Array.from({ length: 5 }, () => world.slack.send(payload)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(5).fill(200));
    expect((await read(one)).votes).toHaveLength(1);
  });

  it('answers the platform checks', async () => {
    const challenge = JSON.stringify({ token: 'x', challenge: 'c-123', type: 'url_verification' });
    const answer = await world.slack.sendRaw(challenge, { type: 'application/json' });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('c-123');
    expect((await world.slack.sendRaw('ssl_check=1&token=x')).status).toBe(200);
    const odd = await world.slack.send({ type: 'shortcut', user: { id: 'U0LIWEI' }, team: { id: 'T0ACME' } });
    expect(odd.status).toBe(200);
  });

  it('shows hostile text as it is', async () => {
    const hostile = '<!channel> <@U0LIWEI> <https://evil.example|bank> *bold* `x` & a\u202Eb\u200Bc';
    const { ts } = await posted('bank__transfer', { ...small, payee: hostile });
    const blocks = world.slack.message(ts).blocks;
    expect(nodes(blocks).filter((node) => node.type === 'mrkdwn')).toEqual([]);
    expect(JSON.stringify(blocks)).not.toMatch(/\u202E|\u200B/);
    expect(world.slack.message(ts).text).not.toContain('<!channel>');
    expect(shown(ts)).toContain('*bold* `x`');
  });

  it('posts a card for long arguments within the limits of Slack', async () => {
    const { one, ts } = await posted('bank__transfer', {
      ...small,
      memo: '长😀<&>'.repeat(5_000),
      list: Array.from({ length: 300 }, (_, i) => `item ${i}`),
    });
    const blocks = world.slack.message(ts).blocks;
    expect(blocks.length).toBeLessThanOrEqual(50);
    for (const text of texts(blocks)) {
      expect(text.length).toBeLessThanOrEqual(3_000);
      expect(text.isWellFormed()).toBe(true);
    }
    await world.slack.tap(ts, 'approve', accounts.liWei.slack);
    expect((await read(one)).status).toBe('approved');
  });

  it('ends undeliverable at once where its only channel refuses for good', async () => {
    world.slack.disturb = (method) =>
      method === 'chat.postMessage' ? { json: { ok: false, error: 'channel_not_found' } } : undefined;
    const one = await ask('bank__slack_only');
    const ended = await world.gate.confirmation(one.id, keys.agent, '?wait=10s');
    expect(ended.body).toMatchObject({ status: 'undeliverable', deliveries: [{ state: 'failed' }] });
  });

  it.each([
    [
      '429 with Retry-After',
      { status: 429, headers: { 'retry-after': '1' }, json: { ok: false, error: 'ratelimited' } },
    ],
    ['a 503', { status: 503, json: { ok: false } }],
    ['a connection that breaks', 'reset' as const],
  ])('posts at last, once, after %s', async (_what, reply) => {
    let failures = 0;
    world.slack.disturb = (method) => {
      if (method !== 'chat.postMessage' || failures >= 1) return undefined;
      failures += 1;
      return reply;
    };
    const one = await ask('bank__slack_only', { note: _what });
    await until(async () => (await read(one)).deliveries[0]?.state === 'sent', { deadlineMs: 25_000 });
    const cards = [...world.slack.messages.values()].filter((message) =>
      JSON.stringify(message.blocks).includes(one.id),
    );
    expect(cards).toHaveLength(1);
  });

  it('posts one card where Slack took it and the answer was lost', async () => {
    await until(async () => (await read(lost)).deliveries[0]?.state === 'sent', { deadlineMs: 28_000 });
    const cards = () =>
      [...world.slack.messages.values()].filter((message) =>
        JSON.stringify(message.blocks).includes(lost.id),
      );
    expect(cards()).toHaveLength(1);
    await world.slack.tap(String(cards()[0]?.ts), 'approve', accounts.liWei.slack);
    expect((await read(lost)).status).toBe('approved');
  });
});
