import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CountersignError, ERRORS, type ErrorCode } from '../../src/errors.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { HTTP_STATUS, toProblem } from '../../src/http/problem.ts';
import { packageRoot } from '../../src/package-root.ts';
import { as, createNeighbours, type Neighbours, startApp } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

describe('the table of errors', () => {
  it('agrees with docs/errors.md, code by code', () => {
    const page = readFileSync(join(packageRoot, 'docs/errors.md'), 'utf8');
    const documented = page
      .split('\n')
      .map((line) => /^\| `(\w+)` \| (\d+) \| (yes|no) \| (.*) \|$/.exec(line))
      .filter((match) => match !== null)
      .map(([, code, status, retryable, advice]) => [code, Number(status), retryable === 'yes', advice]);
    const table = (Object.keys(ERRORS) as ErrorCode[]).map((code) => [
      code,
      HTTP_STATUS[code],
      ERRORS[code].retryable,
      ERRORS[code].advice,
    ]);
    expect(documented).toEqual(table);
  });

  it('lets no detail take the place of what a problem is', () => {
    const error = new CountersignError('already_decided', 'It is decided.', {
      status: 200,
      code: 'fine',
      decision: { status: 'approved' },
    });
    expect(toProblem(error)).toEqual({
      type: 'urn:countersign:error:already_decided',
      title: 'Already decided',
      status: 409,
      detail: 'It is decided.',
      code: 'already_decided',
      retryable: false,
      decision: { status: 'approved' },
    });
  });
});

describe('a fault inside', () => {
  let neighbours: Neighbours;
  let app: HttpApp;
  beforeEach(async () => {
    neighbours = createNeighbours();
    app = startApp(neighbours, {
      findByIdempotencyKey: async () => null,
    } as unknown as AppOptions['confirmations']);
    await app.ready();
  });
  afterEach(() => app.close());

  const verify = () => app.inject({ method: 'GET', url: '/v1/audit/verify', headers: as('root') });
  const failWith = (fault: unknown) => {
    neighbours.audit.verify = async () => {
      throw fault;
    };
  };

  it('is answered 500, which says nothing about it', async () => {
    failWith(new Error('relation "audit_events" does not exist at 10.0.0.5'));
    const response = await verify();
    expect(problemOf(response)).toEqual({
      type: 'urn:countersign:error:internal',
      title: 'Internal',
      status: 500,
      detail: ERRORS.internal.advice,
      code: 'internal',
      retryable: true,
    });
  });

  it.each([
    ['a refused connection', Object.assign(new Error('x'), { code: 'ECONNREFUSED' })],
    ['a closed connection', Object.assign(new Error('x'), { code: 'CONNECTION_CLOSED' })],
    ['a lock that was not had', Object.assign(new Error('x'), { code: '55P03' })],
    ['a deadlock', new Error('x', { cause: Object.assign(new Error('y'), { code: '40P01' }) })],
    [
      'a connection that ended in the middle',
      new Error('x', { cause: new Error('Connection terminated unexpectedly') }),
    ],
    ['a server that shuts down', Object.assign(new Error('x'), { code: '57P01' })],
  ])('that passes (%s) is answered 503: try again', async (_what, fault) => {
    failWith(fault);
    expect(problemOf(await verify())).toMatchObject({ status: 503, code: 'unavailable', retryable: true });
  });

  it.each([['a string'], [null], [{ statusCode: 200 }], [undefined]])(
    'that is no error (%j) is answered 500',
    async (fault) => {
      failWith(fault);
      expect(problemOf(await verify()).code).toBe('internal');
    },
  );

  it('says nothing inside even where the code is ours', async () => {
    failWith(new CountersignError('internal', 'the password is hunter2', { stack: 'at db.ts' }));
    const response = await verify();
    expect(problemOf(response).code).toBe('internal');
    expect(response.body).not.toMatch(/hunter2|db\.ts/);
  });

  it('reaches the log by its innermost cause, without the values of the query', async () => {
    const cause = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (secret)=(hunter2)',
    });
    failWith(new Error('Failed query: insert … params: hunter2', { cause }));
    await verify();
    const line = neighbours.logLines.find((candidate) => candidate.includes('request failed')) ?? '';
    expect(JSON.parse(line).fault).toMatchObject({ code: '23505', message: 'duplicate key' });
    expect(line).not.toContain('hunter2');
  });

  it('keeps the code of what the core refused', async () => {
    neighbours.authorize = async () => {
      throw new CountersignError('unknown_tool', 'There is no tool nope.');
    };
    const response = await app.inject({
      method: 'POST',
      url: '/v1/confirmations',
      headers: as('procurement'),
      payload: { tool: 'nope', args: {}, agent: 'procurement' },
    });
    expect(problemOf(response)).toMatchObject({
      status: 422,
      code: 'unknown_tool',
      detail: 'There is no tool nope.',
    });
  });
});
