import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { type Core, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';
import { as, createNeighbours, type Neighbours, startApp, UNKNOWN_ID } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

let database: Database;
let core: Core;
let neighbours: Neighbours;
let app: HttpApp;

beforeAll(async () => {
  database = await openPostgres();
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

interface Row {
  readonly route: string;
  readonly call: (subject: Subject) => InjectOptions;
  /** One status a caller, in the order of CALLERS. 409 means: let in, refused by the state of the request. */
  readonly answers: string;
}

interface Subject {
  readonly id: string;
  readonly run: string;
  readonly argsDigest: string;
}

const get = (url: string): InjectOptions => ({ method: 'GET', url });
const post = (url: string, payload: object): InjectOptions => ({ method: 'POST', url, payload });

const MATRIX: readonly Row[] = [
  {
    route: 'ask',
    call: () => post('/v1/confirmations', { tool: 't', args: {}, agent: 'procurement' }),
    answers: '200 403 403 403 200 403 403 403 403 403 403 403 403',
  },
  {
    route: 'read one',
    call: ({ id }) => get(`/v1/confirmations/${id}`),
    answers: '200 404 200 200 200 200 200 200 200 200 200 404 403',
  },
  {
    route: 'explain',
    call: ({ id }) => get(`/v1/confirmations/${id}/explain`),
    answers: '403 403 200 200 200 200 200 200 200 200 200 404 403',
  },
  {
    route: 'read its cards',
    call: ({ id }) => get(`/v1/confirmations/${id}/cards`),
    answers: '403 403 403 200 200 403 403 403 200 403 200 403 403',
  },
  {
    route: 'list',
    call: () => get('/v1/confirmations'),
    answers: '403 403 200 200 200 200 200 200 200 200 200 200 403',
  },
  {
    route: 'claim',
    call: ({ id }) => post(`/v1/confirmations/${id}/claim`, { args: {} }),
    answers: '409 404 403 403 409 403 403 403 403 403 403 403 403',
  },
  {
    route: 'outcome',
    call: ({ id }) => post(`/v1/confirmations/${id}/outcome`, { status: 'failed' }),
    answers: '409 404 403 403 409 403 403 403 403 403 403 403 403',
  },
  {
    route: 'cancel',
    call: ({ id }) => post(`/v1/confirmations/${id}/cancel`, {}),
    answers: '200 404 200 403 200 200 403 200 403 200 200 404 403',
  },
  {
    route: 'revoke',
    call: ({ id }) => post(`/v1/confirmations/${id}/revoke`, {}),
    answers: '403 403 403 403 403 409 409 409 409 403 403 403 403',
  },
  {
    route: 'vote',
    call: ({ id, argsDigest }) => post(`/v1/confirmations/${id}/votes`, { verdict: 'approve', argsDigest }),
    answers: '403 403 403 403 403 200 200 403 200 403 403 403 403',
  },
  {
    route: 'settle',
    call: ({ id }) => post(`/v1/confirmations/${id}/settlement`, { status: 'failed', detail: 'checked' }),
    answers: '403 403 403 403 403 409 409 403 409 403 403 403 403',
  },
  {
    route: 'start a run',
    call: () => post('/v1/runs', { agent: 'procurement', input: 'go' }),
    answers: '202 403 403 403 202 403 403 403 403 403 202 403 403',
  },
  {
    route: 'read a run',
    call: ({ run }) => get(`/v1/runs/${run}`),
    answers: '200 404 200 200 200 200 404 200 200 200 200 404 403',
  },
  {
    route: 'follow a run',
    call: ({ run }) => get(`/v1/runs/${run}/events`),
    answers: '200 404 200 200 200 200 404 200 200 200 200 404 403',
  },
  {
    route: 'cancel a run',
    call: ({ run }) => post(`/v1/runs/${run}/cancel`, {}),
    answers: '200 404 200 403 200 200 404 200 403 403 200 404 403',
  },
  {
    route: 'read the record',
    call: () => get('/v1/audit/events'),
    answers: '403 403 403 200 200 403 403 403 200 403 200 403 403',
  },
  {
    route: 'verify the record',
    call: () => get('/v1/audit/verify'),
    answers: '403 403 403 200 200 403 403 403 200 403 200 403 403',
  },
  {
    route: 'export the record',
    call: () => get('/v1/audit/export'),
    answers: '403 403 403 200 200 403 403 403 200 403 200 403 403',
  },
  {
    route: 'read the switch',
    call: () => get('/v1/read-only'),
    answers: '403 403 200 200 200 200 200 200 200 200 200 200 403',
  },
  {
    route: 'turn the switch',
    call: () => ({
      method: 'PUT',
      url: '/v1/read-only',
      payload: { scope: 'organization', readOnly: false },
    }),
    answers: '403 403 403 403 200 200 403 403 403 403 200 403 403',
  },
  {
    route: 'read the freezes',
    call: () => get('/v1/freezes'),
    answers: '403 403 200 200 200 200 200 200 200 200 200 200 403',
  },
  {
    // 400 means: let in, and refused for a glob that matches nothing.
    route: 'freeze',
    call: () => post('/v1/freezes', { tools: ['no__such_tool'], reason: 'x' }),
    answers: '403 403 403 403 403 400 403 403 403 403 400 403 403',
  },
  {
    // 404 means: let in, and there is no such freeze.
    route: 'unfreeze',
    call: () => ({ method: 'DELETE', url: '/v1/freezes/0198c0de-0000-7000-8000-000000000000' }),
    answers: '403 403 403 403 403 404 403 403 403 403 404 403 403',
  },
];

async function newSubject(): Promise<Subject> {
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

  it.each(MATRIX)('$route: each caller gets in, is refused, or sees nothing', async ({ call, answers }) => {
    const answered: Record<string, number> = {};
    let subject = await newSubject();
    for (const caller of CALLERS) {
      const request = call(subject);
      const response = await app.inject({ ...request, headers: as(caller) });
      answered[caller] = response.statusCode;
      if (response.statusCode < 400 && request.method !== 'GET') subject = await newSubject();
      if (response.statusCode >= 400) problemOf(response);
    }
    const expected = answers.split(' ').map(Number);
    expect(answered).toEqual(Object.fromEntries(CALLERS.map((caller, index) => [caller, expected[index]])));
  });

  it.each(MATRIX)('$route: without a known key nobody gets in', async ({ route, call }) => {
    const subject = await newSubject();
    const headers = [
      undefined,
      '',
      'Bearer',
      'Bearer wrong',
      'Basic YTpi',
      'api-key-of-root',
      'Bearer api-key-of-root x',
      'Bearer api-key-of-roo',
    ];
    for (const [index, authorization] of headers.entries()) {
      const response = await app.inject({
        ...call(subject),
        headers: authorization === undefined ? {} : { authorization },
        // Each from an address of its own: too many wrong keys from one are another story.
        remoteAddress: `10.0.${MATRIX.findIndex((row) => row.route === route)}.${index}`,
      });
      expect(response.statusCode).toBe(401);
      expect(problemOf(response).code).toBe('unauthenticated');
      expect(response.headers['www-authenticate']).toContain('Bearer');
    }
  });

  const withId = MATRIX.filter(({ call }) =>
    String(call({ id: 'ID', run: 'ID', argsDigest: '' }).url).includes('ID'),
  );

  it.each(withId)('$route: an id that is none, and one that nobody has, are both 404', async ({ call }) => {
    for (const id of [UNKNOWN_ID, 'x', '0198C0DE-0000-7000-8000-000000000000', '%00', "1' or '1'='1"]) {
      for (const caller of ['procurement', 'root', 'li.wei'] as const) {
        const response = await app.inject({
          ...call({ id: encodeURI(id), run: encodeURI(id), argsDigest: 'sha256:0' }),
          headers: as(caller),
        });
        expect([403, 404]).toContain(response.statusCode);
        problemOf(response);
      }
    }
  });
});

describe('what each caller sees', () => {
  it('tells an agent what was decided and why, but neither who may decide nor who did', async () => {
    const { id, argsDigest } = await newSubject();
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
    const { id } = await newSubject();
    const ids = async (caller: string, query = '') => {
      const response = await app.inject({
        ...get(`/v1/confirmations?limit=200${query}`),
        headers: as(caller),
      });
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
