import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { type Core, startCore } from '../support/core.ts';
import { openEmbedded } from '../support/databases.ts';
import { as, createNeighbours, type Neighbours, startApp, UNKNOWN_ID } from './http-fixture.ts';

let database: Database;
let core: Core;
let neighbours: Neighbours;
let app: HttpApp;

beforeAll(async () => {
  database = await openEmbedded();
  core = startCore(database);
  neighbours = createNeighbours();
  app = startApp(neighbours, core.service);
  await app.ready();
});

afterAll(async () => {
  await app.close();
  core.stop();
  await database.close();
});

/** Who calls: keys first, then people. `procurement` asked; `zhao.min` is the requester, `owner` the agent's owner. */
const CALLERS = [
  'procurement',
  'sales',
  'desk',
  'audit',
  'root',
  'li.wei',
  'wang.fang',
  'zhao.min',
  'chen.jie',
  'owner',
  'lin.tao',
  'sun.li',
  'he.ping',
] as const;

type Row = readonly [
  name: string,
  call: (id: string, run: string, digest: string) => InjectOptions,
  ...statuses: readonly number[],
];

const get = (url: string): InjectOptions => ({ method: 'GET', url });
const post = (url: string, payload: object): InjectOptions => ({ method: 'POST', url, payload });

// One column a caller, in the order of CALLERS. 4xx beyond 401, 403 and 404 mean: allowed in, refused by the state.
const MATRIX: readonly Row[] = [
  //                                                    keys ─────────────────────  people ─────────────────────────────────
  //                                                    procurement sales desk audit root  li.wei wang zhao chen owner lin sun he
  ['ask', () => post('/v1/confirmations', { tool: 't', args: {}, agent: 'procurement' }), 200, 403, 403, 403, 200, 403, 403, 403, 403, 403, 403, 403, 403],
  ['read one', (id) => get(`/v1/confirmations/${id}`), 200, 404, 200, 200, 200, 200, 200, 200, 200, 200, 200, 404, 403],
  ['list', () => get('/v1/confirmations'), 403, 403, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 403],
  ['claim', (id) => post(`/v1/confirmations/${id}/claim`, { args: {} }), 409, 404, 403, 403, 409, 403, 403, 403, 403, 403, 403, 403, 403],
  ['outcome', (id) => post(`/v1/confirmations/${id}/outcome`, { status: 'failed' }), 409, 404, 403, 403, 409, 403, 403, 403, 403, 403, 403, 403, 403],
  ['cancel', (id) => post(`/v1/confirmations/${id}/cancel`, {}), 200, 404, 200, 403, 200, 200, 403, 200, 403, 403, 200, 404, 403],
  ['vote', (id, _run, argsDigest) => post(`/v1/confirmations/${id}/votes`, { verdict: 'approve', argsDigest }), 403, 403, 403, 403, 403, 200, 200, 403, 200, 403, 403, 403, 403],
  ['settle', (id) => post(`/v1/confirmations/${id}/settlement`, { status: 'failed', detail: 'checked' }), 403, 403, 403, 403, 403, 409, 409, 403, 409, 403, 403, 403, 403],
  ['start a run', () => post('/v1/runs', { agent: 'procurement', input: 'go' }), 202, 403, 403, 403, 202, 403, 403, 403, 403, 403, 202, 403, 403],
  ['read a run', (_id, run) => get(`/v1/runs/${run}`), 200, 404, 200, 200, 200, 200, 404, 200, 200, 200, 200, 404, 403],
  ['follow a run', (_id, run) => get(`/v1/runs/${run}/events`), 200, 404, 200, 200, 200, 200, 404, 200, 200, 200, 200, 404, 403],
  ['cancel a run', (_id, run) => post(`/v1/runs/${run}/cancel`, {}), 200, 404, 200, 403, 200, 200, 404, 200, 403, 403, 200, 404, 403],
  ['read the record', () => get('/v1/audit/events'), 403, 403, 403, 200, 200, 403, 403, 403, 200, 403, 200, 403, 403],
  ['verify the record', () => get('/v1/audit/verify'), 403, 403, 403, 200, 200, 403, 403, 403, 200, 403, 200, 403, 403],
  ['export the record', () => get('/v1/audit/export'), 403, 403, 403, 200, 200, 403, 403, 403, 200, 403, 200, 403, 403],
  ['read the switch', () => get('/v1/read-only'), 403, 403, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 403],
  ['turn the switch', () => ({ method: 'PUT', url: '/v1/read-only', payload: { scope: 'organization', readOnly: false } }), 403, 403, 403, 403, 200, 200, 403, 403, 403, 403, 200, 403, 403],
];

async function subjects() {
  const id = await core.pending();
  const { argsDigest } = (await core.service.get(id)) ?? { argsDigest: '' };
  return { id, argsDigest, run: neighbours.runs.add().id };
}

describe('who may call what', () => {
  it('has a row for every route under /v1', () => {
    const routes = Object.entries(app.swagger().paths ?? {})
      .filter(([path]) => path.startsWith('/v1/'))
      .reduce((count, [, methods]) => count + Object.keys(methods ?? {}).length, 0);
    expect(routes).toBe(MATRIX.length);
  });

  it.each(MATRIX)('%s: each caller gets in, is refused, or sees nothing', async (_name, call, ...statuses) => {
    const answered: Record<string, number> = {};
    for (const caller of CALLERS) {
      const { id, run, argsDigest } = await subjects();
      const response = await app.inject({ ...call(id, run, argsDigest), headers: as(caller) });
      answered[caller] = response.statusCode;
      if (response.statusCode >= 400) expectProblem(response);
    }
    expect(answered).toEqual(Object.fromEntries(CALLERS.map((caller, index) => [caller, statuses[index]])));
  });

  it.each(MATRIX)('%s: without a known key nobody gets in, and nothing is said about the id', async (_name, call) => {
    const { id, run, argsDigest } = await subjects();
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer wrong',
      'Basic YTpi',
      'api-key-of-root',
      'Bearer api-key-of-root x',
      'Bearer api-key-of-roo',
    ]) {
      const response = await app.inject({
        ...call(id, run, argsDigest),
        headers: authorization === undefined ? {} : { authorization },
        remoteAddress: `10.0.0.${Math.floor(Math.random() * 250)}`,
      });
      expect(response.statusCode).toBe(401);
      expect(expectProblem(response).code).toBe('unauthenticated');
      expect(response.headers['www-authenticate']).toContain('Bearer');
    }
  });

  it.each(MATRIX)('%s: an id that is none, and one that nobody has, are both answered 404', async (_name, call) => {
    if (!call('{id}', '{id}', '').url?.toString().includes('{id}')) return;
    for (const id of [UNKNOWN_ID, 'x', '0198C0DE-0000-7000-8000-000000000000', '%00', "1' or '1'='1"]) {
      for (const caller of ['procurement', 'root', 'li.wei'] as const) {
        const response = await app.inject({ ...call(encodeURI(id), encodeURI(id), 'sha256:0'), headers: as(caller) });
        expect([403, 404]).toContain(response.statusCode);
        expectProblem(response);
      }
    }
  });
});

describe('what each caller sees', () => {
  it('tells an agent what was decided and why, but neither who may decide nor who did', async () => {
    const { id, argsDigest } = await subjects();
    await app.inject({
      ...post(`/v1/confirmations/${id}/votes`, { verdict: 'reject', reason: 'Too dear', argsDigest }),
      headers: as('wang.fang'),
    });
    const agent = await app.inject({ ...get(`/v1/confirmations/${id}`), headers: as('procurement') });
    expect(agent.json().decision).toEqual({
      status: 'rejected',
      at: expect.any(String),
      reason: 'Too dear',
      code: 'rejected',
    });
    expect(agent.json()).not.toHaveProperty('approvers');
    expect(agent.json()).not.toHaveProperty('votes');
    expect(agent.body).not.toContain('wang.fang');

    const auditor = await app.inject({ ...get(`/v1/confirmations/${id}`), headers: as('audit') });
    expect(auditor.json().votes).toMatchObject([
      { person: { id: 'wang.fang' }, verdict: 'reject', reason: 'Too dear', channel: 'api' },
    ]);
    expect(auditor.json().decision.by.id).toBe('wang.fang');
  });

  it('lists for a person without a role only what concerns them', async () => {
    const { id } = await subjects();
    const ids = async (caller: string, query = '') => {
      const response = await app.inject({ ...get(`/v1/confirmations?limit=200${query}`), headers: as(caller) });
      return response.json().items.map((item: { id: string }) => item.id);
    };
    expect(await ids('zhao.min')).toContain(id);
    expect(await ids('owner')).toContain(id);
    expect(await ids('sun.li')).toEqual([]);
    // Asking for somebody else's does not widen what may be seen.
    expect(await ids('sun.li', '&person=zhao.min')).toEqual([]);
    expect(await ids('li.wei', '&person=zhao.min')).toContain(id);
  });

  it('shows an agent what its delegates ask and run, and not the other way round', async () => {
    const parent = neighbours.runs.add();
    const child = neighbours.runs.add({ agent: 'sales' as never, parentRun: parent.id, requester: null });
    const id = await core.pending(undefined, {
      agentId: 'sales' as never,
      runId: child.id,
      metadata: { parentRunId: parent.id },
    });
    const status = async (caller: string, url: string) =>
      (await app.inject({ ...get(url), headers: as(caller) })).statusCode;
    expect(await status('procurement', `/v1/runs/${child.id}`)).toBe(200);
    expect(await status('procurement', `/v1/confirmations/${id}`)).toBe(200);
    expect(await status('sales', `/v1/runs/${child.id}`)).toBe(200);
    expect(await status('sales', `/v1/runs/${parent.id}`)).toBe(404);
  });
});

function expectProblem(response: { headers: Record<string, unknown>; statusCode: number; json: () => unknown }) {
  expect(response.headers['content-type']).toBe('application/problem+json');
  const problem = response.json() as Record<string, unknown>;
  expect(problem).toMatchObject({
    type: `urn:countersign:error:${problem.code}`,
    title: expect.any(String),
    status: response.statusCode,
    detail: expect.any(String),
    code: expect.stringMatching(/^[a-z_]+$/),
    retryable: expect.any(Boolean),
  });
  return problem;
}
