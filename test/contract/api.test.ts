import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { until } from '../support/until.ts';
import { argumentsDigest } from './digest.ts';
import type { Confirmation, Page, Problem } from './shapes.ts';
import { keys, startWorld, type World } from './world.ts';

vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const payment = { payee: 'ACME 有限公司', amount: '60000.00', currency: 'CNY', memo: 'PO 7' };
const small = { payee: 'ACME', amount: '10', currency: 'CNY' };

describe.each(['pglite', 'postgres'])('the API on %s', (database) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({
      name: 'api',
      postgresUrl: database === 'postgres' ? inject('postgresUrl') : undefined,
    });
  });
  afterAll(() => world?.stop());

  const ask = (tool: string, args: unknown, more: Record<string, unknown> = {}, headers = {}) =>
    world.gate.ask({ tool, args, agent: 'procurement', ...more }, keys.agent, headers);
  const pending = async (tool: string, args: unknown = small, more = {}): Promise<Confirmation> => {
    const asked = await ask(tool, args, more);
    expect(asked.status, asked.text).toBe(201);
    return asked.body.confirmation;
  };
  const post = <T = Confirmation & Problem>(one: Confirmation, what: string, key: string, body?: unknown) =>
    world.gate.call<T>('POST', `/v1/confirmations/${one.id}/${what}`, { key, body });
  const vote = (one: Confirmation, key: string, verdict = 'approve', more: Record<string, unknown> = {}) =>
    post(one, 'votes', key, { verdict, argsDigest: one.argsDigest, ...more });
  const approved = async (tool: string, args: unknown = small) => {
    const one = await pending(tool, args);
    expect((await vote(one, keys.liWei)).status).toBe(200);
    return one;
  };
  const claim = (one: Confirmation, args: unknown = one.args, key: string = keys.agent) =>
    post<{ claimed: boolean; executeBy: string; confirmation: Confirmation } & Problem>(one, 'claim', key, {
      args,
    });
  const refused = (
    answer: { status: number; body: unknown; headers: Headers },
    status: number,
    code: string,
  ) => {
    expect(answer.body).toMatchObject({ status, code });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  };

  describe('asking', () => {
    it('answers 201 pending with the confirmation as documented', async () => {
      const more = { session: 's-1', callId: 'c-1', summary: 'Pay the order', metadata: { order: 7 } };
      const asked = await ask('bank__transfer', payment, more);
      expect(asked.status).toBe(201);
      expect(asked.body.decision).toBe('pending');
      const one = asked.body.confirmation;
      expect(one).toMatchObject({
        status: 'pending',
        tool: 'bank__transfer',
        args: payment,
        summary: 'Pay the order',
        agent: 'procurement',
        session: 's-1',
        callId: 'c-1',
        requester: { id: 'zhao.min', name: '赵敏' },
        policy: { id: 'large-payment', quorum: 2 },
        decidedAt: null,
        executeBy: null,
        execution: { status: 'none', at: null, detail: null },
      });
      expect(one.verificationCode).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
      expect(one.deliveries.map((delivery) => delivery.channel).sort()).toEqual(['pay-feishu', 'pay-slack']);
      expect(Date.parse(one.decideBy) - Date.parse(one.createdAt)).toBe(2 * 60 * 60 * 1000);
    });

    it('digests the arguments as anyone can recompute', async () => {
      const args = {
        z: 1e-7,
        a: -0.5,
        '€': 'é\u2028\u0007',
        '😀': [true, null, { b: '', a: 0 }],
        amount: '60000',
        currency: 'CNY',
      };
      const one = await pending('bank__transfer', args);
      expect(one.argsDigest).toBe(
        argumentsDigest({ organization: 'acme', tool: 'bank__transfer', toolVersion: null, args }),
      );
    });

    it('allows what nothing asks about, with the arguments and their digest', async () => {
      const asked = await ask('free__lookup', { q: 'x' });
      expect(asked.status).toBe(200);
      expect(asked.body).toEqual({
        decision: 'allow',
        args: { q: 'x' },
        argsDigest: argumentsDigest({
          organization: 'acme',
          tool: 'free__lookup',
          toolVersion: null,
          args: { q: 'x' },
        }),
      });
    });

    it('denies with policy_error where the condition cannot be evaluated, and names the argument', async () => {
      for (const args of [
        { payee: 'x', currency: 'CNY' },
        { payee: 'x', amount: 'many', currency: 'CNY' },
        { payee: 'x', amount: '60000', currency: 'USD' },
      ]) {
        const asked = await ask('bank__transfer', args);
        expect(asked.status).toBe(200);
        expect(asked.body).toMatchObject({ decision: 'deny', error: { code: 'policy_error' } });
        expect(asked.body.error.message).toMatch(/amount|currency|USD/);
      }
    });

    it('gates a flagged tool of a connector under the default policy where no policy matches', async () => {
      const one = await pending('oa__purchase_pay', small);
      expect(one.deliveries.map((delivery) => delivery.channel)).toEqual(['pay-feishu']);
      expect(Date.parse(one.decideBy) - Date.parse(one.createdAt)).toBe(15 * 60 * 1000);
    });

    it('compares amounts exactly and not as doubles', async () => {
      expect(
        (await pending('bank__transfer', { ...small, amount: '50000.000000000000000001' })).policy.id,
      ).toBe('large-payment');
      expect((await pending('bank__transfer', { ...small, amount: '50000' })).policy.id).toBe(
        'small-payment',
      );
    });

    it('refuses what it cannot decide about', async () => {
      refused(await ask('nobody__knows', {}), 422, 'unknown_tool');
      refused(await ask('oa__unknown', {}), 422, 'unknown_tool');
      refused(await ask('Bank__transfer', {}), 422, 'unknown_tool');
      refused(await ask('oa__purchase_pay', { payee: 'x' }), 422, 'invalid_arguments');
      refused(await ask('oa__purchase_pay', { ...small, amount: 10 }), 422, 'invalid_arguments');
      refused(await ask('bank__transfer', small, { requester: 'nobody' }), 422, 'unknown_requester');
      refused(await ask('bank__transfer', small, { agent: 'other' }), 403, 'agent_not_allowed');
      const foreign = await world.gate.ask(
        { tool: 'free__x', args: {}, agent: 'other', requester: 'li.wei' },
        keys.other,
      );
      refused(foreign, 403, 'requester_not_allowed');
    });

    it.each([
      ['too large', { blob: 'x'.repeat(257 * 1024) }],
      ['a NUL', { memo: 'a\u0000b' }],
      ['a NUL in a name', { 'a\u0000b': 1 }],
    ])('answers 422 for arguments with %s', async (_what, args) => {
      const asked = await ask('free__x', args);
      expect(asked.status).toBe(422);
      expect(asked.headers.get('content-type')).toMatch(/problem\+json/);
    });

    it.each([
      ['65 levels', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 422],
      ['10,000 levels', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 422],
      ['a lone surrogate', '{"memo":"\\ud800"}', 422],
      ['an unsafe integer', '{"account":9007199254740993}', 422],
      ['a long fraction', '{"amount":0.12345678901234567890123}', 422],
      ['a number over the range', '{"amount":1e999}', 422],
      ['duplicate keys', '{"a":1,"a":2}', 400],
      ['duplicate keys written differently', '{"a":1,"\\u0061":2}', 400],
      ['broken JSON', '{"a":', 400],
      ['a trailing comma', '{"a":1,}', 400],
    ])('answers for arguments with %s', async (_what, args, status) => {
      const raw = `{"tool":"free__x","agent":"procurement","args":${args}}`;
      const asked = await world.gate.call<Problem>('POST', '/v1/confirmations', { key: keys.agent, raw });
      expect([asked.status, asked.body]).toMatchObject([
        status,
        status === 400 ? { code: 'invalid_json' } : {},
      ]);
      expect(asked.body.code).toEqual(expect.any(String));
    });

    it('refuses a body over 1 MiB with 413 and one of another shape with a code', async () => {
      const large = await world.gate.call<Problem>('POST', '/v1/confirmations', {
        key: keys.agent,
        raw: JSON.stringify({ tool: 'free__x', agent: 'procurement', args: { a: 'x'.repeat(1_100_000) } }),
      });
      expect(large.status).toBe(413);
      expect(large.body.code).toEqual(expect.any(String));
      for (const body of [
        {},
        [],
        'text',
        { tool: 'free__x', agent: 'procurement' },
        { tool: 'free__x', agent: 'procurement', args: [] },
        { tool: 1, agent: 'procurement', args: {} },
      ]) {
        const asked = await world.gate.call<Problem>('POST', '/v1/confirmations', { key: keys.agent, body });
        expect(asked.status).toBeGreaterThanOrEqual(400);
        expect(asked.status).toBeLessThan(500);
        expect(asked.body.code).toEqual(expect.any(String));
      }
      const typed = await world.gate.call('POST', '/v1/confirmations', {
        key: keys.agent,
        raw: 'tool=x',
        headers: { 'content-type': 'text/plain' },
      });
      expect(typed.status).toBeGreaterThanOrEqual(400);
      expect(typed.status).toBeLessThan(500);
    });

    it('keeps numbers that survive a double as they are', async () => {
      const asked = await ask('free__x', { a: 9007199254740991, b: 0.1, c: -1.5, d: 100 });
      expect(asked.body.args).toEqual({ a: 9007199254740991, b: 0.1, c: -1.5, d: 100 });
    });

    it('repeats the answer for a repeated key, whatever the key order, and refuses another body', async () => {
      const headers = { 'idempotency-key': `k-${Math.random()}` };
      const first = await ask('bank__transfer', { payee: 'a', amount: '10', currency: 'CNY' }, {}, headers);
      const again = await ask('bank__transfer', { currency: 'CNY', amount: '10', payee: 'a' }, {}, headers);
      expect([first.status, again.status]).toEqual([201, 200]);
      expect(again.body.confirmation.id).toBe(first.body.confirmation.id);
      expect(again.body.decision).toBe('pending');
      refused(
        await ask('bank__transfer', { payee: 'b', amount: '10', currency: 'CNY' }, {}, headers),
        409,
        'idempotency_conflict',
      );
      const other = await world.gate.ask(
        { tool: 'bank__transfer', args: small, agent: 'other' },
        keys.other,
        headers,
      );
      expect(other.status, 'the key is scoped to the API key').toBe(201);
    });

    it('stores one request for many simultaneous asks with one key', async () => {
      const headers = { 'idempotency-key': `many-${Math.random()}` };
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => ask('bank__transfer', small, {}, headers)),
      );
      expect(new Set(answers.map((answer) => answer.body.confirmation?.id)).size).toBe(1);
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    });

    it('asks for an agent that is configured nowhere but in its key, which then names the requester', async () => {
      refused(await ask('bank__transfer', small, { agent: 'outsider' }), 422, 'unknown_requester');
      const one = await pending('bank__transfer', small, { agent: 'outsider', requester: 'sun.li' });
      expect(one).toMatchObject({ agent: 'outsider', requester: { id: 'sun.li' } });
    });

    it('ends undeliverable at once where too few people could decide', async () => {
      const asked = await ask('bank__only_li', {}, { requester: 'li.wei' });
      expect(asked.status).toBe(200);
      expect(asked.body).toMatchObject({
        decision: 'deny',
        error: { code: 'undeliverable' },
        confirmation: { status: 'undeliverable' },
      });
    });
  });

  describe('reading', () => {
    it('tells 401, 403 and 404 apart', async () => {
      const one = await pending('bank__transfer');
      const path = `/v1/confirmations/${one.id}`;
      for (const key of [undefined, 'wrong-key']) {
        const answer = await world.gate.call<Problem>('GET', path, { key });
        expect(answer.status).toBe(401);
        expect(answer.body.code).toEqual(expect.any(String));
      }
      expect((await world.gate.confirmation(one.id, keys.other)).status).toBe(404);
      expect(
        (await world.gate.confirmation('01981234-0000-7000-8000-000000000000', keys.auditor)).status,
      ).toBe(404);
      expect((await world.gate.confirmation('not-an-id', keys.auditor)).status).toBe(404);
      const readers = [
        keys.agent,
        keys.liWei,
        keys.zhaoMin,
        keys.zhouJing,
        keys.auditor,
        keys.operator,
        keys.admin,
      ];
      for (const key of readers) expect((await world.gate.confirmation(one.id, key)).status, key).toBe(200);
      for (const [method, route] of [
        ['POST', '/v1/confirmations'],
        ['POST', `${path}/votes`],
        ['GET', '/v1/confirmations'],
        ['POST', '/v1/runs'],
        ['GET', '/v1/audit/events'],
        ['GET', '/v1/audit/verify'],
        ['GET', '/v1/audit/export?format=jsonl'],
        ['PUT', '/v1/read-only'],
      ] as const)
        expect(
          (await world.gate.call(method, route, { body: method === 'GET' ? undefined : {} })).status,
          route,
        ).toBe(401);
      for (const key of [keys.auditor, keys.liWei])
        expect((await world.gate.ask({ tool: 'free__x', args: {}, agent: 'procurement' }, key)).status).toBe(
          403,
        );
      expect((await world.gate.call('GET', '/v1/confirmations', { key: keys.agent })).status).toBe(403);
      expect((await world.gate.call('GET', '/v1/audit/events', { key: keys.agent })).status).toBe(403);
    });

    it('shows an agent the decision but neither approvers nor who voted', async () => {
      const one = await approved('bank__transfer');
      const seen = (await world.gate.confirmation(one.id, keys.agent)).body;
      expect(seen.decision).toMatchObject({ status: 'approved', reason: null });
      expect(JSON.stringify(seen)).not.toMatch(/li\.wei|李伟|wang\.fang/);
      const whole = (await world.gate.confirmation(one.id, keys.auditor)).body;
      expect(whole.approvers).toEqual([
        { id: 'li.wei', name: '李伟' },
        { id: 'wang.fang', name: '王芳' },
        { id: 'sun.li', name: '孙丽' },
      ]);
      expect(whole.votes).toEqual([
        {
          person: { id: 'li.wei', name: '李伟' },
          verdict: 'approve',
          reason: null,
          channel: expect.any(String),
          at: expect.any(String),
        },
      ]);
      expect(whole).toMatchObject({ status: 'approved', execution: { status: 'unclaimed' } });
      expect(Date.parse(String(whole.executeBy)) - Date.parse(String(whole.decidedAt))).toBe(600_000);
    });

    it('holds a wait until the decision and no longer', async () => {
      const one = await pending('bank__transfer');
      const began = Date.now();
      const waiting = world.gate.confirmation(one.id, keys.agent, '?wait=30s');
      await vote(one, keys.sunLi, 'reject', { reason: 'not ours' });
      const answer = await waiting;
      expect(answer.body).toMatchObject({
        status: 'rejected',
        decision: { status: 'rejected', reason: 'not ours', code: 'rejected' },
      });
      expect(Date.now() - began).toBeLessThan(5_000);
    });

    it('ends a wait at its time while still pending, and refuses a malformed one', async () => {
      const one = await pending('bank__transfer');
      const began = Date.now();
      expect((await world.gate.confirmation(one.id, keys.agent, '?wait=1s')).body.status).toBe('pending');
      expect(Date.now() - began).toBeGreaterThanOrEqual(950);
      const odd = await world.gate.confirmation(one.id, keys.agent, '?wait=soon');
      expect(odd.status).toBeGreaterThanOrEqual(400);
      expect(odd.status).toBeLessThan(500);
    });

    it('lists newest first by cursor and by filter', async () => {
      const made = [
        await pending('bank__list', { needle: 'haystack-7' }),
        await pending('bank__list'),
        await pending('bank__list'),
      ];
      const list = (query: string, key: string = keys.auditor) =>
        world.gate.call<Page<Confirmation>>('GET', `/v1/confirmations?${query}`, { key });
      const first = (await list('tool=bank__list&limit=2')).body;
      expect(first.items.map((item) => item.id)).toEqual([made[2]?.id, made[1]?.id]);
      const rest = (
        await list(`tool=bank__list&limit=2&cursor=${encodeURIComponent(String(first.nextCursor))}`)
      ).body;
      expect(rest.items.map((item) => item.id)).toEqual([made[0]?.id]);
      expect(rest.nextCursor).toBeNull();
      expect((await list('tool=bank__list&status=approved')).body.items).toEqual([]);
      expect((await list('tool=bank__list&agent=other')).body.items).toEqual([]);
      expect((await list('q=haystack-7')).body.items.map((item) => item.id)).toEqual([made[0]?.id]);
      expect((await list('tool=bank__list&person=li.wei', keys.liWei)).status).toBe(200);
      expect(
        (await list(`tool=bank__list&from=${made[1]?.createdAt}`)).body.items.map((item) => item.id),
      ).toContain(made[2]?.id);
      expect(
        (await list(`tool=bank__list&to=${new Date(Date.now() - 86_400_000).toISOString()}`)).body.items,
      ).toEqual([]);
      for (const query of ['limit=0', 'limit=x', 'cursor=garbage', 'status=odd', 'from=yesterday']) {
        const answer = await list(query);
        expect(answer.status, query).toBeGreaterThanOrEqual(400);
        expect(answer.status, query).toBeLessThan(500);
      }
    });
  });

  describe('voting', () => {
    it('needs two distinct people for a quorum of two', async () => {
      const one = await pending('bank__transfer', payment);
      expect((await vote(one, keys.liWei)).body).toMatchObject({
        status: 'pending',
        votes: [{ verdict: 'approve' }],
      });
      const same = await vote(one, keys.liWei);
      expect(same.status).toBe(200);
      expect(same.body.votes).toHaveLength(1);
      expect((await vote(one, keys.wangFang)).body).toMatchObject({ status: 'approved' });
      expect((await vote(one, keys.wangFang)).status, 'the same vote after closing').toBe(200);
      const late = await vote(one, keys.sunLi);
      refused(late, 409, 'already_decided');
      expect(late.body.decision).toMatchObject({ status: 'approved', reason: null, at: expect.any(String) });
      expect(JSON.stringify(late.body.decision?.by)).toContain('wang.fang');
      refused(await vote(one, keys.liWei, 'reject', { reason: 'x' }), 409, 'already_decided');
    });

    it('lets who approved still reject while it is pending, but who rejected nothing more', async () => {
      const one = await pending('bank__transfer', payment);
      await vote(one, keys.liWei);
      expect((await vote(one, keys.liWei, 'reject', { reason: 'second thoughts' })).body.status).toBe(
        'rejected',
      );
      refused(await vote(one, keys.liWei), 409, 'already_decided');
      expect((await vote(one, keys.liWei, 'reject', { reason: 'second thoughts' })).status).toBe(200);
    });

    it('refuses everybody who may not', async () => {
      const one = await pending('bank__transfer', small, { requester: 'wang.fang' });
      refused(await vote(one, keys.qianYi), 403, 'not_an_approver');
      refused(await vote(one, keys.wangFang), 403, 'self_approval');
      for (const key of [keys.agent, keys.auditor, keys.operator, keys.admin])
        expect((await vote(one, key)).status, key).toBe(403);
      expect((await vote(one, keys.wangFang, 'reject', { reason: 'my own mistake' })).body.status).toBe(
        'rejected',
      );
    });

    it('refuses the owner of the agent even where the requester is another', async () => {
      const one = await pending('bank__transfer', small, { requester: 'wang.fang' });
      expect((await vote(one, keys.zhaoMin)).status).toBe(403);
    });

    it('asks for a reason where the policy does', async () => {
      const always = await pending('bank__explain');
      refused(await vote(always, keys.liWei), 422, 'reason_required');
      refused(await vote(always, keys.liWei, 'approve', { reason: '  ' }), 422, 'reason_required');
      expect((await vote(always, keys.liWei, 'approve', { reason: 'checked' })).body.status).toBe('approved');
      const onReject = await pending('bank__on_reject');
      refused(await vote(onReject, keys.liWei, 'reject'), 422, 'reason_required');
      expect((await vote(onReject, keys.liWei)).body.status).toBe('approved');
    });

    it('refuses a vote on other arguments and malformed votes', async () => {
      const one = await pending('bank__transfer');
      refused(
        await vote(one, keys.liWei, 'approve', { argsDigest: `sha256:${'0'.repeat(64)}` }),
        409,
        'args_changed',
      );
      for (const body of [
        {},
        { verdict: 'maybe', argsDigest: one.argsDigest },
        { verdict: 'approve' },
        { verdict: 'approve', argsDigest: 7 },
      ]) {
        const answer = await post(one, 'votes', keys.liWei, body);
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.status).toBeLessThan(500);
      }
      expect((await world.gate.confirmation(one.id, keys.liWei)).body).toMatchObject({
        status: 'pending',
        votes: [],
      });
    });

    it('answers 410 expired after the deadline, and the request reads expired', async () => {
      const one = await pending('bank__quick');
      const ended = await world.gate.confirmation(one.id, keys.liWei, '?wait=20s');
      expect(ended.body).toMatchObject({ status: 'expired', execution: { status: 'none' } });
      refused(await vote(one, keys.liWei), 410, 'expired');
      refused(await claim(one), 409, 'not_approved');
    });

    it('has one winner among many simultaneous votes', async () => {
      const one = await pending('bank__transfer');
      const answers = await Promise.all([
        vote(one, keys.liWei),
        vote(one, keys.sunLi, 'reject', { reason: 'no' }),
        vote(one, keys.wangFang),
      ]);
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
      for (const loser of answers.filter((answer) => answer.status !== 200))
        refused(loser, 409, 'already_decided');
    });
  });

  describe('claim, outcome, cancel and settlement', () => {
    it('claims once, with the arguments that were approved', async () => {
      const one = await approved('bank__transfer');
      refused(await claim(one, { ...one.args, amount: '11' }), 409, 'args_changed');
      expect((await claim(one, one.args, keys.other)).status).toBe(404);
      expect((await claim(one, one.args, keys.liWei)).status).toBe(403);
      const claimed = await claim(one, Object.fromEntries(Object.entries(one.args).reverse()));
      expect(claimed.status).toBe(200);
      expect(claimed.body).toMatchObject({
        claimed: true,
        confirmation: { id: one.id, execution: { status: 'claimed' } },
      });
      expect(Date.parse(claimed.body.executeBy)).toBeGreaterThan(Date.now());
      refused(await claim(one), 409, 'already_claimed');
    });

    it('gives one grant to one of many simultaneous claims', async () => {
      const one = await approved('bank__transfer');
      const answers = await Promise.all(Array.from({ length: 10 }, () => claim(one)));
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(9).fill(409)]);
    });

    it('does not let a grant be used before approval or after its window', async () => {
      const open = await pending('bank__transfer');
      refused(await claim(open), 409, 'not_approved');
      const one = await approved('bank__short');
      await until(
        async () => (await world.gate.confirmation(one.id, keys.agent)).body.execution.status === 'lapsed',
      );
      refused(await claim(one), 409, 'lapsed');
    });

    it('records an outcome once; the same again is 200, another 409', async () => {
      const one = await approved('bank__transfer');
      const early = await post(one, 'outcome', keys.agent, { status: 'succeeded' });
      expect(early.status).toBe(409);
      await claim(one);
      const told = await post(one, 'outcome', keys.agent, { status: 'succeeded', detail: 'R-1' });
      expect(told.status).toBe(200);
      expect(told.body).toMatchObject({
        id: one.id,
        execution: { status: 'succeeded', detail: 'R-1', at: expect.any(String) },
      });
      expect((await post(one, 'outcome', keys.agent, { status: 'succeeded', detail: 'R-1' })).status).toBe(
        200,
      );
      refused(
        await post(one, 'outcome', keys.agent, { status: 'failed', detail: 'R-1' }),
        409,
        'outcome_recorded',
      );
      const odd = await post(one, 'outcome', keys.agent, { status: 'perhaps' });
      expect([400, 422]).toContain(odd.status);
    });

    it('lets a person who could approve it settle an unknown, and only an unknown', async () => {
      const one = await approved('bank__transfer');
      await claim(one);
      const settle = (key: string, status = 'succeeded') =>
        post(one, 'settlement', key, { status, detail: 'seen on the statement' });
      expect((await settle(keys.liWei)).status, 'not unknown yet').toBe(409);
      await post(one, 'outcome', keys.agent, { status: 'unknown', detail: 'connection lost' });
      expect((await settle(keys.agent)).status).toBe(403);
      expect((await settle(keys.qianYi)).status).toBe(403);
      expect((await settle(keys.zhaoMin)).status).toBe(403);
      const settled = await settle(keys.wangFang);
      expect(settled.status).toBe(200);
      expect(JSON.stringify(settled.body)).toContain('"succeeded"');
      expect((await world.gate.confirmation(one.id, keys.liWei)).body.execution).toMatchObject({
        status: 'succeeded',
      });
    });

    it('cancels a pending request, for the agent, the requester and an operator', async () => {
      for (const key of [keys.agent, keys.wangFang, keys.operator, keys.admin]) {
        const one = await pending('bank__transfer', small, { requester: 'wang.fang' });
        const cancelled = await post(one, 'cancel', key);
        expect(cancelled.status, key).toBe(200);
        expect(cancelled.body).toMatchObject({ id: one.id, status: 'cancelled' });
        expect((await post(one, 'cancel', key)).status, 'twice').toBe(200);
        expect((await vote(one, keys.liWei)).status).toBe(409);
      }
      const one = await pending('bank__transfer');
      expect((await post(one, 'cancel', keys.other)).status).toBe(404);
      expect((await post(one, 'cancel', keys.auditor)).status).toBe(403);
      expect([403, 404]).toContain((await post(one, 'cancel', keys.qianYi)).status);
    });

    it('revokes an approved grant that nobody claimed, and refuses what is otherwise closed', async () => {
      const one = await approved('bank__transfer');
      const cancelled = await post(one, 'cancel', keys.agent);
      expect(cancelled.status).toBe(200);
      expect(cancelled.body).toMatchObject({ status: 'approved', execution: { status: 'revoked' } });
      expect((await claim(one)).status).toBe(409);
      expect((await post(one, 'cancel', keys.agent)).status, 'twice').toBe(200);
      const used = await approved('bank__transfer');
      await claim(used);
      expect((await post(used, 'cancel', keys.agent)).status).toBe(409);
      const rejected = await pending('bank__transfer');
      await vote(rejected, keys.liWei, 'reject', { reason: 'no' });
      expect((await post(rejected, 'cancel', keys.agent)).status).toBe(409);
    });

    it('takes a body-less POST with a JSON content type for a cancel', async () => {
      const one = await pending('bank__transfer');
      const answer = await world.gate.call('POST', `/v1/confirmations/${one.id}/cancel`, {
        key: keys.agent,
        raw: '',
      });
      expect(answer.status, answer.text).toBe(200);
    });
  });
});
