import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AppOptions } from '../../src/http/app-options.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { createLogger } from '../../src/http/logger.ts';
import { createOperationsApp } from '../../src/http/operations-app.ts';
import {
  API_KEYS,
  as,
  auditEvent,
  CONFIG,
  createNeighbours,
  type Neighbours,
  PEOPLE,
  startApp,
} from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

let neighbours: Neighbours;
let app: HttpApp;
const NO_CORE = {} as AppOptions['confirmations'];

beforeEach(async () => {
  neighbours = createNeighbours();
  app = startApp(neighbours, NO_CORE);
  await app.ready();
});
afterEach(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'GET', url, headers });

describe('the description of the API', () => {
  it('names every call of the contract, with what it answers and who may call', async () => {
    const { paths } = (await get('/openapi.json')).json();
    const calls = Object.entries<Record<string, object>>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(calls.sort()).toEqual([
      'DELETE /v1/freezes/{id}',
      'GET /healthz',
      'GET /metrics',
      'GET /readyz',
      'GET /v1/audit/events',
      'GET /v1/audit/export',
      'GET /v1/audit/verify',
      'GET /v1/confirmations',
      'GET /v1/confirmations/{id}',
      'GET /v1/confirmations/{id}/cards',
      'GET /v1/confirmations/{id}/explain',
      'GET /v1/freezes',
      'GET /v1/read-only',
      'GET /v1/runs/{id}',
      'GET /v1/runs/{id}/events',
      'POST /channels/{channelId}/callback',
      'POST /v1/confirmations',
      'POST /v1/confirmations/{id}/cancel',
      'POST /v1/confirmations/{id}/claim',
      'POST /v1/confirmations/{id}/outcome',
      'POST /v1/confirmations/{id}/revoke',
      'POST /v1/confirmations/{id}/settlement',
      'POST /v1/confirmations/{id}/votes',
      'POST /v1/freezes',
      'POST /v1/runs',
      'POST /v1/runs/{id}/cancel',
      'PUT /v1/read-only',
    ]);
    for (const [path, methods] of Object.entries<Record<string, Record<string, unknown>>>(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const what = `${method} ${path}`;
        expect(operation.summary, what).toEqual(expect.any(String));
        const responses = operation.responses as Record<string, { description: string; content?: object }>;
        expect(
          Object.keys(responses).some((status) => status.startsWith('2')),
          what,
        ).toBe(true);
        if (!path.startsWith('/v1')) continue;
        expect(operation.security, what).toEqual([{ key: [] }]);
        for (const status of ['400', '401', '403', '429', '500', '503']) {
          expect(responses[status]?.content, `${what} ${status}`).toHaveProperty('application/problem+json');
        }
      }
    }
  });

  it('is valid: OpenAPI 3.1, and each schema in it is JSON Schema 2020-12', async () => {
    const document = (await get('/openapi.json')).json();
    expect(document.openapi).toMatch(/^3\.1\./);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    let schemas = 0;
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if ('schema' in value && typeof value.schema === 'object') {
        schemas += 1;
        expect(() => ajv.compile(value.schema as object)).not.toThrow();
      }
      for (const inner of Object.values(value)) walk(inner);
    };
    walk(document.paths);
    expect(schemas).toBeGreaterThan(100);
  });

  it('describes a question so that a right one passes and a wrong one does not', async () => {
    const { paths } = (await get('/openapi.json')).json();
    const { schema } = paths['/v1/confirmations'].post.requestBody.content['application/json'];
    const check = new Ajv2020({ strict: false }).compile(schema);
    expect(check({ tool: 'a', agent: 'b', args: { amount: '1' } })).toBe(true);
    expect(check({ tool: 'a', agent: 'b', args: [] })).toBe(false);
    expect(check({ agent: 'b', args: {} })).toBe(false);
    expect(check({ tool: 'a', agent: 'b', args: {}, approve: true })).toBe(false);
  });

  it('has a page, whose own content policy lets it run nothing from elsewhere', async () => {
    const response = await get('/docs/');
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toContain('text/html');
    expect(response.headers['content-security-policy']).toContain("script-src 'self';");
    expect((await get('/docs')).statusCode).toBeLessThan(400);
  });
});

describe('every answer', () => {
  it('carries the headers that keep browsers from doing anything with it', async () => {
    for (const response of [await get('/healthz'), await get('/v1/read-only'), await get('/nowhere')]) {
      expect(response.headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'same-origin',
      });
      expect(response.headers).not.toHaveProperty('x-powered-by');
      expect(response.headers).not.toHaveProperty('access-control-allow-origin');
    }
    expect((await get('/v1/read-only', as('root'))).headers['cache-control']).toBe('no-store');
  });

  it('asks browsers for TLS only where it is served by TLS', async () => {
    expect((await get('/healthz')).headers).not.toHaveProperty('strict-transport-security');
    const behindTls = startApp(createNeighbours(), NO_CORE, {
      config: { ...CONFIG, publicUrl: 'https://gate.acme.example' },
    });
    const response = await behindTls.inject({ method: 'GET', url: '/healthz' });
    expect(response.headers['strict-transport-security']).toContain('max-age=');
    await behindTls.close();
  });
});

describe('keys', () => {
  it('limits wrong ones per address, and never a right one from the same address', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 610; index += 1) {
      const response = await get('/v1/read-only', { authorization: `Bearer guess-${index}` });
      problemOf(response);
      statuses.push(response.statusCode);
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect((await get('/v1/read-only', as('root'))).statusCode).toBe(200);
  });

  it('stops the start where two entries share one', async () => {
    const shared = startApp(createNeighbours(), NO_CORE, {
      config: { ...CONFIG, people: PEOPLE.map((person) => ({ ...person, consoleKey: 'one for all' })) },
    });
    await expect(shared.ready()).rejects.toThrow('share one key');
  });
});

describe('the switch to read-only', () => {
  const put = (payload: object) =>
    app.inject({ method: 'PUT', url: '/v1/read-only', headers: as('li.wei'), payload });

  it('is turned for the organization or for one connector, and read back', async () => {
    expect((await put({ scope: 'organization', readOnly: true })).json()).toEqual({
      organization: true,
      connectors: [],
    });
    expect((await put({ scope: 'oa', readOnly: true })).json()).toEqual({
      organization: true,
      connectors: ['oa'],
    });
    expect((await get('/v1/read-only', as('desk'))).json()).toEqual({
      organization: true,
      connectors: ['oa'],
    });
  });

  it.each([[{ scope: 'bank', readOnly: true }], [{ scope: 'oa' }], [{ scope: 'oa', readOnly: 'yes' }]])(
    'refuses %j',
    async (payload) => {
      expect(problemOf(await put(payload)).code).toBe('invalid_request');
    },
  );
});

describe('the record', () => {
  it('is exported one event a line, and as an empty text where there is none', async () => {
    neighbours.audit.export = async function* () {
      yield auditEvent(1);
      yield auditEvent(2);
    };
    const response = await get('/v1/audit/export?kind=vote.cast&format=jsonl', as('audit'));
    expect(response.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    const lines = response.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(lines[0]).toMatchObject({
      at: '2026-11-30T10:00:00.000Z',
      actor: { type: 'person', id: 'li.wei' },
    });
    neighbours.audit.export = async function* () {};
    expect((await get('/v1/audit/export', as('audit'))).body).toBe('');
  });

  it('breaks the connection, rather than end a cut export well', async () => {
    neighbours.audit.export = async function* () {
      yield auditEvent(1);
      throw new Error('the database went away');
    };
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const response = await fetch(`${url}/v1/audit/export`, { headers: as('audit') });
    await expect(response.text()).rejects.toThrow();
  });

  it('exports as CSV: a line of names, then one record an event, which no spreadsheet runs', async () => {
    const name = '=HYPERLINK("http://127.0.0.1"),\n李伟';
    neighbours.audit.export = async function* () {
      yield { ...auditEvent(1), actor: { type: 'person', id: 'li.wei', name }, data: { reason: 'a "b", c' } };
    };
    const response = await get('/v1/audit/export?format=csv', as('audit'));
    expect(response.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="countersign-audit.csv"',
    });
    expect(response.body.replace(/[0-9a-f-]{36}/, 'ID')).toBe(
      [
        'seq,id,at,kind,confirmation,run,actor.type,actor.id,actor.name,data,prevHash,hash,requestSeq,requestPrev,requestHash',
        `1,ID,2026-11-30T10:00:00.000Z,vote.cast,,,person,li.wei,"'=HYPERLINK(""http://127.0.0.1""),\n李伟","{""reason"":""a \\""b\\"", c""}",a,b,1,c,d`,
        '',
      ].join('\r\n'),
    );
    neighbours.audit.export = async function* () {};
    expect((await get('/v1/audit/export?format=csv', as('audit'))).body).toMatch(/^seq,[^\n]*\r\n$/);
  });

  it('answers 503 where the export cannot even begin', async () => {
    neighbours.audit.export = () => {
      throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
    };
    expect(problemOf(await get('/v1/audit/export', as('audit'))).code).toBe('unavailable');
  });

  it('hands filters on as they are meant, and answers a bad record as an answer', async () => {
    let asked: unknown;
    neighbours.audit.list = async (filter) => {
      asked = filter;
      return { items: [auditEvent(7)], nextCursor: 'next' };
    };
    const page = await get(
      '/v1/audit/events?person=li.wei&from=2026-11-30T18:00:00%2B08:00&limit=2',
      as('audit'),
    );
    expect(asked).toMatchObject({ person: 'li.wei', from: new Date('2026-11-30T10:00:00Z'), limit: 2 });
    expect(page.json()).toMatchObject({ items: [{ seq: 7, hash: 'b' }], nextCursor: 'next' });
    const firstBad = { seq: 7, confirmation: null, reason: 'its hash is wrong' };
    neighbours.audit.verify = async () => ({ ok: false, firstBad });
    const verified = await get('/v1/audit/verify', as('audit'));
    expect([verified.statusCode, verified.json()]).toEqual([200, { ok: false, firstBad }]);
  });
});

describe('operations', () => {
  it('is alive whatever else is not, and ready only with everything', async () => {
    const checks = [{ name: 'database', ready: false, detail: 'cannot be reached' }];
    const readiness = { check: async () => checks };
    const starting = startApp(createNeighbours(), NO_CORE, { readiness });
    expect((await starting.inject({ method: 'GET', url: '/healthz' })).json()).toEqual({ status: 'ok' });
    const response = await starting.inject({ method: 'GET', url: '/readyz' });
    expect([response.statusCode, response.json()]).toEqual([503, { ready: false, checks }]);
    await starting.close();
    expect((await get('/readyz')).statusCode).toBe(200);
  });

  it('is not ready where that cannot be found out', async () => {
    const readiness = { check: () => Promise.reject(new Error('boom at 10.0.0.5')) };
    const starting = startApp(createNeighbours(), NO_CORE, { readiness });
    const response = await starting.inject({ method: 'GET', url: '/readyz' });
    expect(response.statusCode).toBe(503);
    expect(response.body).not.toContain('10.0.0.5');
    await starting.close();
  });

  it('measures each route under its pattern', async () => {
    await get('/v1/confirmations/0198c0de-0000-7000-8000-000000000000');
    const metrics = await get('/metrics');
    expect(metrics.headers['content-type']).toContain('text/plain');
    expect(metrics.body).toContain('route="/v1/confirmations/:id",status="401"');
    expect(metrics.body).not.toContain('0198c0de');
  });

  it('moves to a listener of its own where the configuration names one', async () => {
    const main = startApp(createNeighbours(), NO_CORE, {
      config: { ...CONFIG, operations: { host: '127.0.0.1', port: 0 } },
    });
    const own = createOperationsApp({
      logger: main.log,
      metrics: neighbours.metrics,
      readiness: { check: async () => [] },
    });
    const status = async (of: HttpApp, url: string) => (await of.inject({ method: 'GET', url })).statusCode;
    for (const url of ['/readyz', '/metrics']) {
      expect([await status(main, url), await status(own, url)]).toEqual([404, 200]);
    }
    expect([await status(main, '/healthz'), await status(own, '/healthz')]).toEqual([200, 200]);
    await main.close();
    await own.close();
  });
});

describe('the log', () => {
  it('has one line a request: method, route, status, time; no key, no address, no body', async () => {
    await app.inject({
      method: 'POST',
      url: '/v1/runs?token=in-the-query',
      headers: { ...as('procurement'), cookie: 'countersign=in-the-cookie' },
      payload: { agent: 'procurement', input: 'in-the-body' },
    });
    const lines = neighbours.logLines.filter((line) => line.includes('"msg":"request"'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      method: 'POST',
      route: '/v1/runs',
      status: 202,
      ms: expect.any(Number),
    });
    expect(neighbours.logLines.join()).not.toMatch(/api-key-of|in-the-/);
  });

  it('cuts out fields that hold secrets, and blots known secrets out of everything else', () => {
    const lines: string[] = [];
    const secret = API_KEYS[0]?.key ?? '';
    const logger = createLogger({
      level: 'info',
      secrets: [secret, 'quoted"secret', 'x'],
      destination: { write: (line) => void lines.push(line) },
    });
    logger.info(
      { headers: { authorization: 'Bearer abc', cookie: 'def' }, config: { slack: { botToken: 'xoxb' } } },
      'hello',
    );
    logger.error({ fault: { message: `refused ${secret} and quoted"secret` } }, `x ${secret}`);
    expect(lines.join()).not.toMatch(/Bearer abc|def|xoxb|api-key-of|quoted/);
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      msg: 'x [redacted]',
      fault: { message: 'refused [redacted] and [redacted]' },
    });
  });
});
