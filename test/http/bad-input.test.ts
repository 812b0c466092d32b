import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { type Core, startCore } from '../support/core.ts';
import { openEmbedded } from '../support/databases.ts';
import { as, createNeighbours, type Neighbours, startApp } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

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

const JSON_TYPE = { 'content-type': 'application/json' };

/** Sends these very bytes as the body of a question, and expects that nothing was asked. */
async function ask(body: string | Buffer, headers: Record<string, string> = {}) {
  const before = neighbours.asked.length;
  const response = await app.inject({
    method: 'POST',
    url: '/v1/confirmations',
    headers: { ...JSON_TYPE, ...as('procurement'), ...headers },
    payload: body,
  });
  if (response.statusCode >= 400) expect(neighbours.asked.length).toBe(before);
  return response;
}

const withArgs = (args: string) => `{"tool":"bank__transfer","agent":"procurement","args":${args}}`;
const manyKeys = Array.from({ length: 100_000 }, (_, index) => `"${index.toString(36)}":1`).join(',');
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe('a question that cannot be read', () => {
  it.each([
    ['broken JSON', withArgs('{"a":'), 400, 'invalid_json'],
    ['JSON with a trailing comma', withArgs('{"a":1,}'), 400, 'invalid_json'],
    ['a duplicate key', withArgs('{"amount":"1","amount":"2"}'), 400, 'invalid_json'],
    ['a duplicate key with equal values', withArgs('{"amount":"1","amount":"1"}'), 400, 'invalid_json'],
    [
      'a duplicate key outside of the arguments',
      '{"tool":"a","tool":"b","agent":"procurement","args":{}}',
      400,
      'invalid_json',
    ],
    ['a byte order mark', `\ufeff${withArgs('{}')}`, 400, 'invalid_json'],
    ['an array at the top', '[]', 400, 'invalid_json'],
    ['a string at the top', '"x"', 400, 'invalid_json'],
    ['NaN', withArgs('{"a":NaN}'), 400, 'invalid_json'],
    ['an integer beyond a double', withArgs('{"amount":9007199254740993}'), 422, 'invalid_arguments'],
    [
      'a decimal beyond a double',
      withArgs('{"amount":0.1000000000000000055511151231257827}'),
      422,
      'invalid_arguments',
    ],
    ['a number that is not finite', withArgs('{"amount":1e999}'), 422, 'invalid_arguments'],
    ['a lone surrogate', withArgs('{"a":"\\ud800"}'), 422, 'invalid_arguments'],
    ['a NUL', withArgs('{"a":"x\\u0000y"}'), 422, 'invalid_arguments'],
    ['the key __proto__', withArgs('{"__proto__":{"admin":true}}'), 422, 'invalid_arguments'],
    ['65 levels', withArgs(nested(65)), 422, 'invalid_arguments'],
    ['10,000 levels', withArgs(nested(10_000)), 422, 'invalid_arguments'],
    ['10,000 open brackets', '['.repeat(10_000), 422, 'invalid_arguments'],
    ['arguments over 256 KiB', withArgs(`{"a":"${'x'.repeat(256 * 1024)}"}`), 422, 'invalid_arguments'],
    ['100,000 keys', withArgs(`{${manyKeys}}`), 422, 'invalid_arguments'],
    ['a body over 1 MiB', withArgs(`{"a":"${'x'.repeat(1024 * 1024)}"}`), 413, 'body_too_large'],
  ])('%s is refused', async (_what, body, status, code) => {
    const response = await ask(body);
    const problem = problemOf(response);
    expect([response.statusCode, problem.code]).toEqual([status, code]);
  });

  it('takes arguments at the limits: 64 levels and 256 KiB', async () => {
    expect((await ask(withArgs(nested(64)))).statusCode).toBe(200);
    const filler = 'x'.repeat(256 * 1024 - '{"a":""}'.length);
    expect((await ask(withArgs(`{"a":"${filler}"}`))).statusCode).toBe(200);
  });

  it('tells the agent to send a large number as a string, and at which argument', async () => {
    const problem = problemOf(await ask(withArgs('{"lines":[{"amount":9007199254740993}]}')));
    expect(problem.detail).toContain('/lines/0/amount');
    expect(problem.detail).toContain('string');
  });

  it('refuses bytes that are no UTF-8 instead of replacing them', async () => {
    const response = await ask(
      Buffer.concat([Buffer.from('{"tool":"a'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')]),
    );
    expect([response.statusCode, problemOf(response).code]).toEqual([400, 'invalid_json']);
  });

  it.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/json; charset=gbk'],
    ['application/jsonp'],
    ['nonsense'],
  ])('refuses the content type %s', async (contentType) => {
    const response = await ask(withArgs('{}'), { 'content-type': contentType });
    expect([response.statusCode, problemOf(response).code]).toEqual([415, 'unsupported_media_type']);
  });

  it('refuses a body that is compressed', async () => {
    const response = await ask(gzipSync(withArgs('{}')), { 'content-encoding': 'gzip' });
    expect([response.statusCode, problemOf(response).code]).toEqual([415, 'unsupported_media_type']);
  });

  it('refuses a body without a content type, and no body at all', async () => {
    const request = { method: 'POST', url: '/v1/confirmations', headers: as('procurement') } as const;
    const untyped = await app.inject({ ...request, payload: Buffer.from(withArgs('{}')) });
    expect(untyped.statusCode).toBe(415);
    problemOf(untyped);
    const empty = await app.inject(request);
    expect([empty.statusCode, problemOf(empty).code]).toEqual([400, 'invalid_request']);
  });
});

describe('a question of the wrong shape', () => {
  it.each([
    ['no tool', { agent: 'procurement', args: {} }],
    ['an empty tool', { tool: '', agent: 'procurement', args: {} }],
    ['a tool that is a number', { tool: 5, agent: 'procurement', args: {} }],
    ['a tool of 10,000 characters', { tool: 'x'.repeat(10_000), agent: 'procurement', args: {} }],
    ['no arguments', { tool: 'a', agent: 'procurement' }],
    ['arguments that are an array', { tool: 'a', agent: 'procurement', args: [] }],
    ['arguments that are null', { tool: 'a', agent: 'procurement', args: null }],
    ['arguments that are a string', { tool: 'a', agent: 'procurement', args: '{}' }],
    ['metadata that is no object', { tool: 'a', agent: 'procurement', args: {}, metadata: 'x' }],
    [
      'a summary beyond 2,000 characters',
      { tool: 'a', agent: 'procurement', args: {}, summary: 'x'.repeat(2001) },
    ],
    ['an unknown key', { tool: 'a', agent: 'procurement', args: {}, approve: true }],
  ])('%s: 400, naming the field', async (_what, body) => {
    const response = await ask(JSON.stringify(body));
    const problem = problemOf(response);
    expect([response.statusCode, problem.code]).toEqual([400, 'invalid_request']);
    expect(problem.errors).toEqual([{ path: expect.any(String), message: expect.any(String) }]);
  });

  it.each([
    ['an agent of another key', { agent: 'sales' }, 403, 'agent_not_allowed'],
    ['an agent nobody has', { agent: 'nobody' }, 403, 'agent_not_allowed'],
    ['a requester nobody is', { requester: 'mr.nobody' }, 422, 'unknown_requester'],
  ])('%s', async (_what, change, status, code) => {
    const response = await ask(JSON.stringify({ tool: 'a', agent: 'procurement', args: {}, ...change }));
    expect([response.statusCode, problemOf(response).code]).toEqual([status, code]);
  });

  it('lets a key that may name nobody find out about nobody', async () => {
    for (const requester of ['zhao.min', 'mr.nobody']) {
      const response = await app.inject({
        method: 'POST',
        url: '/v1/confirmations',
        headers: as('sales'),
        payload: { tool: 'a', agent: 'sales', args: {}, requester },
      });
      expect(problemOf(response).code).toBe('requester_not_allowed');
    }
  });

  it.each([[''], ['with space'], ['schlüssel'], ['x'.repeat(256)], ['a\tb']])(
    'refuses the Idempotency-Key %j',
    async (key) => {
      const response = await ask(withArgs('{}'), { 'idempotency-key': Buffer.from(key).toString('latin1') });
      expect([response.statusCode, problemOf(response).code]).toEqual([400, 'invalid_request']);
    },
  );
});

const SOME_ID = '01985d2e-7c1a-7000-8000-000000000000';
/** What the service itself would make of these two, whatever they are. */
const cursorOf = (at: string, id: string) => Buffer.from(`${at} ${id}`).toString('base64url');

describe('a query of the wrong shape', () => {
  it.each([
    ['/v1/confirmations?foo=1'],
    ['/v1/confirmations?status=open'],
    ['/v1/confirmations?status=pending&status=approved'],
    ['/v1/confirmations?limit=0'],
    ['/v1/confirmations?limit=ten'],
    ['/v1/confirmations?limit=1e1000'],
    ['/v1/confirmations?from=yesterday'],
    ['/v1/confirmations?from=2026-13-40T00:00:00Z'],
    ['/v1/confirmations?q=%00'],
    ['/v1/confirmations?tool='],
    ['/v1/confirmations?cursor=nonsense'],
    [`/v1/confirmations?cursor=${cursorOf('1', '-'.repeat(36))}`],
    [`/v1/confirmations?cursor=${cursorOf('2020', SOME_ID)}`],
    [`/v1/confirmations?cursor=${cursorOf('2026-11-30T10:00:00.000Z', '-'.repeat(36))}`],
    [`/v1/confirmations?cursor=${cursorOf('2026-11-30T10:00:00.000Z', 'a'.repeat(36))}`],
    [`/v1/confirmations?cursor=${cursorOf('+275760-09-13T00:00:00.000Z', SOME_ID)}`],
    [`/v1/confirmations?cursor=${cursorOf('2026-99-99T00:00:00.000Z', SOME_ID)}`],
    [`/v1/confirmations?cursor=${cursorOf('0000-01-01T00:00:00.000Z', SOME_ID)}`],
    ['/v1/confirmations?from=0000-01-01T00:00:00Z'],
    ['/v1/confirmations?from=0001-01-01T00:00:00%2B23:59'],
    ['/v1/confirmations?to=9999-12-31T23:59:59-23:59'],
    ['/v1/audit/events?from=0000-01-01T00:00:00Z'],
    ['/v1/audit/export?to=9999-12-31T23:59:59-23:59'],
    [`/v1/confirmations?cursor=${'x'.repeat(501)}`],
    ['/v1/confirmations?__proto__=1'],
    ['/v1/audit/events?kind=nothing.happened'],
    ['/v1/audit/events?confirmation=x'],
    ['/v1/audit/events?limit=-1'],
    ['/v1/audit/export?format=xml'],
    ['/v1/audit/export?limit=5'],
  ])('%s: 400', async (url) => {
    const response = await app.inject({ method: 'GET', url, headers: as('root') });
    expect([response.statusCode, problemOf(response).code]).toEqual([400, 'invalid_request']);
  });

  it.each([['30'], ['-1s'], ['1.5s'], ['soon'], ['1 s'], ['9999999999s'], ['']])(
    'refuses wait=%s',
    async (wait) => {
      const id = await core.pending();
      const response = await app.inject({
        method: 'GET',
        url: `/v1/confirmations/${id}?wait=${encodeURIComponent(wait)}`,
        headers: as('root'),
      });
      expect([response.statusCode, problemOf(response).code]).toEqual([400, 'invalid_request']);
    },
  );

  it.each([['/v1/confirmations'], ['/v1/audit/events'], ['/v1/freezes']])(
    '%s: a limit above the largest page counts as that',
    async (url) => {
      const response = await app.inject({ method: 'GET', url: `${url}?limit=100000`, headers: as('root') });
      expect([response.statusCode, response.json().items]).toEqual([200, expect.any(Array)]);
    },
  );
});

describe('a plan of the wrong shape', () => {
  it.each([
    ['no nodes', { nodes: [] }, 400, 'invalid_request'],
    ['nodes that are no list', { nodes: {} }, 400, 'invalid_request'],
    [
      'an unknown onRejected',
      { nodes: [{ id: 'a', tool: 't', onRejected: 'retry' }] },
      400,
      'invalid_request',
    ],
    ['a node that is neither tool nor agent', { nodes: [{ id: 'a' }] }, 422, 'invalid_plan'],
    ['a node that is both', { nodes: [{ id: 'a', tool: 't', agent: 'x', input: 'y' }] }, 422, 'invalid_plan'],
    ['a tool with an input', { nodes: [{ id: 'a', tool: 't', input: 'x' }] }, 422, 'invalid_plan'],
    [
      'an agent with arguments',
      { nodes: [{ id: 'a', agent: 'x', input: 'y', args: {} }] },
      422,
      'invalid_plan',
    ],
    ['an agent without an input', { nodes: [{ id: 'a', agent: 'x' }] }, 422, 'invalid_plan'],
  ])('%s: nothing is started', async (_what, plan, status, code) => {
    const before = neighbours.runs.started.length;
    const response = await app.inject({
      method: 'POST',
      url: '/v1/runs',
      headers: as('procurement'),
      payload: { agent: 'procurement', input: 'go', plan },
    });
    expect([response.statusCode, problemOf(response).code]).toEqual([status, code]);
    expect(neighbours.runs.started.length).toBe(before);
  });

  it('hands a right one on as it is meant', async () => {
    await app.inject({
      method: 'POST',
      url: '/v1/runs',
      headers: as('procurement'),
      payload: {
        agent: 'procurement',
        plan: {
          nodes: [
            { id: 'a', tool: 'oa__quote', args: { item: 'paper' } },
            { id: 'b', agent: 'sales', input: 'ask', dependsOn: ['a'], onRejected: 'skip' },
          ],
        },
      },
    });
    expect(neighbours.runs.started.at(-1)?.plan).toEqual([
      {
        id: 'a',
        kind: 'tool',
        tool: 'oa__quote',
        args: { item: 'paper' },
        dependsOn: [],
        onRejected: 'fail',
      },
      { id: 'b', kind: 'agent', agent: 'sales', input: 'ask', dependsOn: ['a'], onRejected: 'skip' },
    ]);
  });
});

describe('what is not of this API', () => {
  it.each<[string, InjectOptions]>([
    ['an unknown address', { method: 'GET', url: '/nowhere' }],
    ['an unknown address under /v1', { method: 'GET', url: '/v1/nowhere' }],
    ['a path that climbs', { method: 'GET', url: '/v1/../../etc/passwd' }],
    ['an unknown channel', { method: 'POST', url: '/channels/nobody/callback', payload: {} }],
  ])('%s: 404 as a problem', async (_what, request) => {
    const response = await app.inject({ ...request, headers: as('root') });
    expect([response.statusCode, problemOf(response).code]).toEqual([404, 'not_found']);
  });

  it.each([
    ['that cannot be decoded', '%E0%A4%A'],
    ['of 5,000 characters', 'x'.repeat(5000)],
  ])('answers an address %s as a problem', async (_what, id) => {
    const response = await app.inject({ method: 'GET', url: `/v1/confirmations/${id}`, headers: as('root') });
    expect([response.statusCode, problemOf(response).code]).toEqual([400, 'invalid_request']);
  });
});

describe('a method that an address does not take', () => {
  it.each([
    ['DELETE', '/v1/confirmations', 'GET, HEAD, POST'],
    ['PUT', '/v1/confirmations', 'GET, HEAD, POST'],
    ['GET', `/v1/confirmations/${SOME_ID}/claim`, 'POST'],
    ['POST', '/v1/audit/verify', 'GET, HEAD'],
    ['HEAD', '/v1/audit/export', 'GET'],
    ['OPTIONS', '/v1/runs', 'POST'],
    ['GET', '/channels/pay-slack/callback', 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
  ] as const)('%s %s: 405, and which it does take', async (method, url, allow) => {
    // Neither a key nor a body that can be read is needed to be told so.
    const response = await app.inject({ method, url, payload: '{', headers: { 'content-type': 'x/y' } });
    expect([response.statusCode, response.headers.allow?.split(', ').sort().join(', ')]).toEqual([
      405,
      allow,
    ]);
    if (method !== 'HEAD') expect(problemOf(response).code).toBe('method_not_allowed');
  });

  it.each([['/healthz'], ['/readyz'], ['/v1/confirmations']])(
    'HEAD %s is GET without a body',
    async (url) => {
      const response = await app.inject({ method: 'HEAD', url, headers: as('root') });
      expect([response.statusCode, response.body]).toEqual([200, '']);
    },
  );
});

describe('over a real socket', () => {
  let port: number;
  beforeAll(async () => {
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    port = Number(new URL(address).port);
  });

  const exchange = (bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(bytes));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });
  const request = (...headers: string[]) =>
    exchange(
      ['GET /v1/confirmations HTTP/1.1', 'host: x', 'connection: close', ...headers, '', ''].join('\r\n'),
    );

  it('refuses a doubled Authorization header, whichever of the two is right', async () => {
    const right = `authorization: ${as('root').authorization}`;
    expect(await request(right)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await request(right, 'authorization: Bearer x')).toMatch(/^HTTP\/1\.1 401 /);
    expect(await request('Authorization: Bearer x', right)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('answers what is not HTTP with a problem, and says nothing about itself', async () => {
    const answer = await exchange('\u0016\u0003\u0001 hello\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('application/problem+json');
    expect(answer).toContain('"code":"invalid_request"');
  });

  it('answers headers that are too large as a problem', async () => {
    expect(await request(`x-filler: ${'x'.repeat(100_000)}`)).toContain('application/problem+json');
  });

  it('refuses a body whose length is over the limit before it has read it', async () => {
    const head = [
      'POST /v1/confirmations HTTP/1.1',
      'host: x',
      `authorization: ${as('procurement').authorization}`,
      'content-type: application/json',
      'content-length: 1048577',
      'connection: close',
      '',
      '',
    ].join('\r\n');
    expect(await exchange(head)).toContain('"code":"body_too_large"');
  });
});
