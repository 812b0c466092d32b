import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runFreeze, runFreezes, runUnfreeze } from '../../src/cli/freeze-commands.ts';
import { serviceOf } from '../../src/cli/service-options.ts';
import type { Database } from '../../src/db/database.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { agentId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { createDescriptionCheck } from './described.ts';
import { as, createNeighbours, startApp } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };

/** The real core and the real freezes, behind the real application. li.wei is operator, lin.tao admin. */
describe.each(DATABASES)('freezes and revocations over the API, on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let app: HttpApp;
  let url: string;
  let checkDescribed: ReturnType<typeof createDescriptionCheck>;
  beforeAll(async () => {
    database = await open();
    core = startCore(database);
    const neighbours = createNeighbours();
    neighbours.freezes = core.freezes;
    app = startApp(neighbours, core.service);
    url = await app.listen({ host: '127.0.0.1', port: 0 });
    checkDescribed = createDescriptionCheck(app);
  });
  afterEach(async () => {
    core.policy = POLICY;
    for (const { id } of await core.freezes.active()) {
      for (const by of ['li.wei', 'lin.tao'].map((who) => ({ id: person(who), name: who })))
        await core.freezes.end({ id, by, mayStill: () => true });
    }
  });
  afterAll(async () => {
    await app.close();
    core.stop();
    await database.close();
  });

  const call = async (who: string, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => {
    const payload = body === undefined ? {} : { payload: body };
    const response = await app.inject({ method, url: path, headers: as(who), ...payload });
    checkDescribed(method, path, response);
    return response;
  };
  const start = (who = 'li.wei', body: object = { tools: ['bank__*'], reason: 'account taken over' }) =>
    call(who, 'POST', '/v1/freezes', body);
  const approved = async () => {
    const id = await core.pending(ARGS, { agentId: agentId('procurement') });
    const surface = { kind: 'api' } as const;
    const by = person('li.wei');
    await core.service.decide({
      id,
      person: by,
      verdict: 'approve',
      reason: null,
      argsDigest: null,
      surface,
    });
    return id;
  };
  const freezeIds = async () => (await core.freezes.active()).map(({ id }) => id);

  it('one operator freezes, and the answer says what holds from now on', async () => {
    const response = await start();
    expect(response.statusCode).toBe(201);
    expect(response.json()).toMatchObject({
      tools: ['bank__*'],
      reason: 'account taken over',
      startedBy: { id: 'li.wei', name: '李伟' },
      endRequested: null,
      ended: null,
    });
    const id = await approved();
    const refused = await call('procurement', 'POST', `/v1/confirmations/${id}/claim`, { args: ARGS });
    expect(problemOf(refused)).toMatchObject({
      status: 409,
      code: 'revoked',
      execution: { status: 'revoked', detail: 'frozen' },
    });
  });

  it.each(['wang.fang', 'chen.jie', 'he.ping', 'procurement', 'desk', 'audit', 'root'])(
    '%s may neither freeze nor unfreeze',
    async (who) => {
      expect((await start(who)).statusCode).toBe(403);
      const { id } = (await start()).json();
      expect((await call(who, 'DELETE', `/v1/freezes/${id}`)).statusCode).toBe(403);
      expect(await freezeIds()).toEqual([id]);
    },
  );

  it('two people end it: the first is told that another has to ask, alone nobody gets further', async () => {
    const { id } = (await start()).json();
    for (let times = 0; times < 3; times += 1) {
      const first = await call('li.wei', 'DELETE', `/v1/freezes/${id}`);
      expect(first.statusCode).toBe(202);
      expect(first.json()).toMatchObject({ endRequested: { by: { id: 'li.wei' } }, ended: null });
    }
    expect(await freezeIds()).toEqual([id]);
    const second = await call('lin.tao', 'DELETE', `/v1/freezes/${id}`);
    expect(second.statusCode).toBe(200);
    expect(second.json()).toMatchObject({ ended: { by: { id: 'lin.tao' } } });
    expect((await call('li.wei', 'DELETE', `/v1/freezes/${id}`)).statusCode).toBe(200);
    expect(await freezeIds()).toEqual([]);
  });

  it.each([
    [{ tools: [], reason: 'x' }],
    [{ tools: ['bank__*'] }],
    [{ tools: ['bank__*'], reason: '  ' }],
    [{ tools: ['bnk__*'], reason: 'a glob that stops nothing' }],
    [{ tools: ['bank__*'], reason: 'x', until: 'tomorrow' }],
    [{ tools: 'bank__*', reason: 'x' }],
  ])('%j freezes nothing', async (body) => {
    const response = await start('li.wei', body);
    expect([response.statusCode, problemOf(response).code]).toEqual([400, 'invalid_request']);
    expect(await freezeIds()).toEqual([]);
  });

  it('an id that is none, or nobody’s, is not found', async () => {
    for (const id of ['x', '0198c0de-0000-7000-8000-000000000000'])
      expect((await call('li.wei', 'DELETE', `/v1/freezes/${id}`)).statusCode).toBe(404);
  });

  it('lists them, the newest first, by pages, open ones alone where that is asked', async () => {
    const ids = [];
    for (const tools of [['bank__a'], ['bank__b'], ['*']]) {
      ids.push((await start('li.wei', { tools, reason: 'x' })).json().id);
    }
    await call('li.wei', 'DELETE', `/v1/freezes/${ids[1]}`);
    await call('lin.tao', 'DELETE', `/v1/freezes/${ids[1]}`);
    const page = (await call('wang.fang', 'GET', '/v1/freezes?limit=2')).json();
    expect(page.items.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1]]);
    const next = (await call('wang.fang', 'GET', `/v1/freezes?limit=1&cursor=${page.nextCursor}`)).json();
    expect(next.items[0].id).toBe(ids[0]);
    const active = (await call('audit', 'GET', '/v1/freezes?active=true')).json();
    expect(active.items.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[0]]);
    expect((await call('procurement', 'GET', '/v1/freezes')).statusCode).toBe(403);
  });

  it('marks what is open as frozen, for agents too, and nothing else', async () => {
    const [open, other] = [
      await core.pending(ARGS, { agentId: agentId('procurement') }),
      await core.pending(ARGS, { agentId: agentId('procurement'), toolName: 'oa__pay' }),
    ];
    await start();
    const frozen = async (who: string, id: string) =>
      (await call(who, 'GET', `/v1/confirmations/${id}`)).json().frozen;
    expect(await frozen('procurement', open)).toBe(true);
    expect(await frozen('li.wei', other)).toBe(false);
    await core.service.cancel({ id: open, actor: { type: 'system' }, reason: null });
    expect(await frozen('procurement', open)).toBe(false);
  });

  it('an approver revokes, with a reason; the agent learns the reason and not who', async () => {
    core.policy = { ...POLICY, coolOffMs: 300_000 };
    const id = await approved();
    const early = await call('procurement', 'POST', `/v1/confirmations/${id}/claim`, { args: ARGS });
    expect(problemOf(early)).toMatchObject({ status: 409, code: 'not_yet_executable', retryable: true });
    expect(problemOf(early).retryAfter).toBeGreaterThan(200);
    const path = `/v1/confirmations/${id}/revoke`;
    const revoked = await call('wang.fang', 'POST', path, { reason: 'wrong account' });
    const execution = { status: 'revoked', detail: 'revoked', reason: 'wrong account' };
    expect(revoked.json()).toMatchObject({
      status: 'approved',
      execution: { ...execution, by: { id: 'wang.fang' } },
    });
    expect((await call('li.wei', 'POST', path)).json()).toMatchObject({
      execution: { by: { id: 'wang.fang' } },
    });
    const seen = (await call('procurement', 'GET', `/v1/confirmations/${id}`)).json();
    expect(seen.execution).toMatchObject(execution);
    expect(seen.execution).not.toHaveProperty('by');
  });

  it('nobody else revokes, and not what was claimed', async () => {
    const id = await approved();
    const path = `/v1/confirmations/${id}/revoke`;
    for (const who of ['procurement', 'desk', 'root', 'audit'])
      expect((await call(who, 'POST', path)).statusCode).toBe(403);
    expect(problemOf(await call('owner', 'POST', path))).toMatchObject({
      status: 403,
      code: 'not_an_approver',
    });
    const pending = await core.pending(ARGS);
    const none = await call('li.wei', 'POST', `/v1/confirmations/${pending}/revoke`);
    expect(problemOf(none)).toMatchObject({ status: 409, code: 'not_approved' });
    await call('procurement', 'POST', `/v1/confirmations/${id}/claim`, { args: ARGS });
    expect(problemOf(await call('li.wei', 'POST', path))).toMatchObject({
      status: 409,
      code: 'already_claimed',
    });
  });

  it('the requester and the agent’s owner withdraw a pending request; another person does not', async () => {
    for (const [who, status] of [
      ['zhao.min', 200],
      ['owner', 200],
      ['wang.fang', 403],
    ] as const) {
      const id = await core.pending(ARGS);
      const response = await call(who, 'POST', `/v1/confirmations/${id}/cancel`, { reason: 'not wanted' });
      expect(response.statusCode).toBe(status);
      const now =
        status === 200 ? { status: 'cancelled', decision: { by: { id: who } } } : { status: 'pending' };
      expect(await core.service.get(id)).toMatchObject(now);
    }
  });

  describe('the commands', () => {
    const lines: string[] = [];
    const by = (who: string) => ({
      url,
      key: as(who).authorization.slice('Bearer '.length),
      locale: 'en-US' as const,
      write: (line: string) => void lines.push(line),
    });
    afterEach(() => lines.splice(0));

    it('freeze, list and unfreeze through the API', async () => {
      expect(await runFreeze({ ...by('li.wei'), tools: ['bank__*'], reason: 'account taken over' })).toBe(0);
      const [id] = await freezeIds();
      expect(lines.join('\n')).toMatch(
        new RegExp(`Frozen: .*\\n${id}  bank__\\*  “account taken over”  李伟`),
      );
      expect(await runUnfreeze({ ...by('li.wei'), id: id ?? '' })).toBe(0);
      expect(lines.at(-2)).toMatch(/still frozen: another person/);
      lines.splice(0);
      expect(await runFreezes(by('li.wei'))).toBe(0);
      expect(lines).toEqual([expect.stringMatching(`^${id}  .*end asked for by 李伟`)]);
      expect(await runUnfreeze({ ...by('lin.tao'), id: id ?? '' })).toBe(0);
      expect(lines.at(-2)).toBe('The freeze has ended.');
      expect(await runFreezes(by('li.wei'))).toBe(0);
      expect(lines.at(-1)).toBe('Nothing is frozen.');
    });

    it('exit with 1 and say why where the service says no, or is not there', async () => {
      expect(await runFreeze({ ...by('wang.fang'), tools: ['*'], reason: 'x' })).toBe(1);
      expect(lines.at(-1)).toMatch(/^Refused: forbidden: /);
      expect(await runUnfreeze({ ...by('li.wei'), id: 'no such/id' })).toBe(1);
      expect(lines.at(-1)).toMatch(/^Refused: not_found: /);
      expect(await runFreezes({ ...by('li.wei'), url: 'http://127.0.0.1:1' })).toBe(1);
      expect(lines.at(-1)).toMatch(/^The service cannot be reached: http:\/\/127\.0\.0\.1:1: /);
      expect(await runFreezes({ ...by('li.wei'), url: `${url}/docs` })).toBe(1);
      expect(await freezeIds()).toEqual([]);
    });
  });
});

describe('who the commands speak as', () => {
  it('is the key of the option, else of the environment, and never nobody', () => {
    const environment = {
      COUNTERSIGN_KEY: 'env-key',
      COUNTERSIGN_URL: 'https://gate.example',
      LANG: 'zh_CN.UTF-8',
    };
    expect(serviceOf({ environment })).toEqual({
      key: 'env-key',
      url: 'https://gate.example',
      locale: 'zh-CN',
    });
    expect(serviceOf({ key: 'k', url: 'http://x', environment })).toMatchObject({
      key: 'k',
      url: 'http://x',
    });
    expect(() => serviceOf({ environment: {} })).toThrow(/COUNTERSIGN_KEY/);
  });
});
