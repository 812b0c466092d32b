import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executeOverHttp } from '../../src/agent/http-connector.ts';
import type { ConnectorToolConfig } from '../../src/config/config.ts';
import { newInvocationId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { freePort } from '../support/free-port.ts';
import { httpTool } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

describe('an HTTP connector', () => {
  const server = new ToolServer();
  let baseUrl: string;

  beforeAll(async () => {
    baseUrl = await server.start();
  });
  afterAll(() => server.stop());

  const call = (
    path: string,
    options: {
      readonly method?: ConnectorToolConfig['method'];
      readonly args?: JsonObject;
      readonly baseUrl?: string;
      readonly signal?: AbortSignal;
    } = {},
  ) => {
    const tool = httpTool({ name: 'x', path, method: options.method ?? 'POST' });
    const connector = {
      id: 'oa',
      kind: 'http' as const,
      baseUrl: options.baseUrl ?? baseUrl,
      headers: { Authorization: 'Bearer secret-of-the-tests' },
      tools: [tool],
    };
    const invocationId = newInvocationId();
    return executeOverHttp(connector, tool, {
      args: options.args ?? { amount: '10.00' },
      invocationId,
      signal: options.signal ?? AbortSignal.timeout(5_000),
      unwanted: new AbortController().signal,
    }).then((outcome) => ({ outcome, invocationId }));
  };

  it('sends the arguments as the body, with the invocation id as its Idempotency-Key', async () => {
    const { outcome, invocationId } = await call('/payments', { args: { amount: '10.00', note: '尾款' } });
    expect(outcome).toEqual({ kind: 'succeeded', result: { payment: 'P-1', total: '10.00' } });
    expect(server.calls.at(-1)).toMatchObject({
      method: 'POST',
      body: { amount: '10.00', note: '尾款' },
      headers: { 'idempotency-key': invocationId, authorization: 'Bearer secret-of-the-tests' },
    });
  });

  it('sends the arguments of a GET as its query', async () => {
    await call('/weather', { method: 'GET', args: { city: 'Köln & Bonn', days: 3, hourly: true } });
    expect(server.calls.at(-1)).toMatchObject({
      method: 'GET',
      query: { city: 'Köln & Bonn', days: '3', hourly: 'true' },
      body: {},
    });
  });

  it.each([
    ['an empty answer', '/empty', null],
    ['an answer that is no JSON', '/text', 'paid'],
    [
      'numbers that a double cannot hold, as their digits',
      '/precise',
      { id: '12345678901234567890', amount: 0.1 },
    ],
  ])('takes %s as a result', async (_what, path, result) => {
    expect((await call(path)).outcome).toEqual({ kind: 'succeeded', result });
  });

  it('keeps the beginning of an answer that is too large, and says so', async () => {
    const { outcome } = await call('/huge');
    if (outcome.kind !== 'succeeded' || typeof outcome.result !== 'string') throw new Error(outcome.kind);
    expect(outcome.result.length).toBeLessThan(1024 * 1024 + 100);
    expect(outcome.result).toMatch(/cut at 1048576 bytes\]$/);
  });

  it.each([
    ['a 4xx', '/refused', { code: 'tool_failed', result: { error: 'the account is closed' } }],
    ['a 429', '/too-many', { code: 'rate_limited' }],
    ['a redirect to make the same request elsewhere', '/temporary', { code: 'tool_failed' }],
  ])('takes %s as a failure', async (_what, path, expected) => {
    const before = server.callsTo('/payments').length;
    expect((await call(path)).outcome).toMatchObject({ kind: 'failed', ...expected });
    expect(server.callsTo('/payments').length).toBe(before);
  });

  it.each([
    ['a 5xx', '/broken'],
    ['a redirect, which may say that it is done, and is not followed', '/redirect'],
    ['a connection that is reset once the request is there', '/reset'],
    ['an answer that breaks off', '/half'],
  ])('does not know what became of %s', async (_what, path) => {
    const { outcome } = await call(path);
    expect(outcome).toMatchObject({ kind: 'unknown' });
    expect(JSON.stringify(outcome)).not.toMatch(/stack trace|secret/);
  });

  it('does not know what became of a request that is answered too late', async () => {
    const { outcome } = await call('/hang', { signal: AbortSignal.timeout(100) });
    expect(outcome).toEqual({ kind: 'unknown', message: expect.stringContaining('timed out') });
    expect(server.callsTo('/hang').length).toBe(1);
  });

  it('takes a connection that could not be made as a failure: nothing was sent', async () => {
    const refused = await call('/payments', { baseUrl: `http://127.0.0.1:${await freePort()}` });
    expect(refused.outcome).toMatchObject({ kind: 'failed', code: 'unavailable' });
    const nowhere = await call('/payments', { baseUrl: 'http://nowhere.invalid' });
    expect(nowhere.outcome).toMatchObject({ kind: 'failed', code: 'unavailable' });
  });

  it('takes a TLS connection that was never agreed on as a failure: the request was not sent', async () => {
    const received: Buffer[] = [];
    const notTls = createServer((socket) => {
      socket.on('data', (chunk) => {
        received.push(chunk);
        socket.end('I do not speak TLS');
      });
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => notTls.listen(0, '127.0.0.1', resolve));
    const { port } = notTls.address() as { port: number };
    const { outcome } = await call('/payments', { baseUrl: `https://127.0.0.1:${port}` });
    expect(outcome).toMatchObject({ kind: 'failed', code: 'unavailable' });
    expect(Buffer.concat(received).toString('latin1')).not.toContain('secret-of-the-tests');
    await new Promise((resolve) => notTls.close(resolve));
  });

  it('does not know what an answer that is no HTTP means', async () => {
    const garbage = createServer((socket) => {
      socket.on('data', () => socket.end('hello\r\n\r\n'));
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => garbage.listen(0, '127.0.0.1', resolve));
    const { port } = garbage.address() as { port: number };
    const { outcome } = await call('/payments', { baseUrl: `http://127.0.0.1:${port}` });
    expect(outcome).toMatchObject({ kind: 'unknown' });
    await new Promise((resolve) => garbage.close(resolve));
  });
});
