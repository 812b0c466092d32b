import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { McpConnector } from '../../src/agent/mcp-connector.ts';
import type { ToolOutcome } from '../../src/agent/tool.ts';
import type { McpConnectorConfig } from '../../src/config/config.ts';
import { newInvocationId } from '../../src/ids.ts';
import { until } from '../support/until.ts';
import { type HttpFault, McpHttpServer } from './mcp-http-server.ts';
import { listed, startConnector } from './mcp-rig.ts';

describe('an MCP server over streamable HTTP', () => {
  const server = new McpHttpServer();
  let url: string;
  const running: McpConnector[] = [];

  beforeAll(async () => {
    url = await server.start();
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    server.tools = [listed('pay'), listed('look')];
    server.fault = null;
    server.calls.length = 0;
    server.headers.length = 0;
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((connector) => connector.stop()));
  });

  const start = (at = url) => {
    const config: McpConnectorConfig = {
      id: 'remote',
      kind: 'mcp',
      server: { transport: 'http', url: at, headers: { authorization: 'Bearer secret-of-the-tests' } },
      requiresConfirmation: [],
      tools: [],
    };
    const started = startConnector(config);
    running.push(started.connector);
    return started;
  };
  const connect = async (at?: string) => {
    const { connector } = start(at);
    await until(async () => connector.health().connected, { what: 'the server is connected' });
    return connector;
  };
  const call = async (connector: McpConnector, name = 'pay', signal = new AbortController().signal) =>
    connector.find(`remote__${name}`)?.execute({
      args: { amount: '10.00' },
      invocationId: newInvocationId(),
      signal,
      unwanted: signal,
    }) as Promise<ToolOutcome>;

  it('lists its tools and calls them, with the headers of the configuration', async () => {
    const connector = await connect();
    expect(connector.tools().map(({ name }) => name)).toEqual(['remote__pay', 'remote__look']);
    expect(await call(connector)).toEqual({ kind: 'succeeded', result: { did: 'pay' } });
    expect(server.calls).toEqual([{ name: 'pay', arguments: { amount: '10.00' } }]);
    expect(server.headers.every(({ authorization }) => authorization === 'Bearer secret-of-the-tests')).toBe(
      true,
    );
  });

  it('hears of a change over the stream', async () => {
    const connector = await connect();
    server.tools = [listed('look'), listed('new')];
    await until(
      async () => {
        await server.announceChange();
        return connector.find('remote__new') !== null;
      },
      { what: 'the new tool is listed' },
    );
    expect(connector.find('remote__pay')).toBeNull();
  });

  it.each<[string, HttpFault, Partial<ToolOutcome>]>([
    ['403', (_request, response) => response.writeHead(403).end('who are you'), { kind: 'failed' }],
    [
      '429',
      (_request, response) => response.writeHead(429).end(),
      { kind: 'failed', code: 'rate_limited' } as never,
    ],
    ['500', (_request, response) => response.writeHead(500).end('secret trace'), { kind: 'unknown' }],
    ['307', (_request, response) => response.writeHead(307, { location: '/mcp' }).end(), { kind: 'failed' }],
    ['302', (_request, response) => response.writeHead(302, { location: '/mcp' }).end(), { kind: 'unknown' }],
    ['a reset', (request) => request.socket.destroy(), { kind: 'unknown' }],
    [
      'no JSON',
      (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
      { kind: 'unknown' },
    ],
    [
      'another type of content',
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      { kind: 'unknown' },
    ],
  ])('says what became of a call that is answered with %s', async (_what, fault, outcome) => {
    const connector = await connect();
    server.fault = fault;
    const got = await call(connector);
    expect(got).toMatchObject(outcome);
    expect(JSON.stringify(got)).not.toMatch(/secret|who are you/);
    expect(server.calls).toEqual([]);
  });

  it('leaves a call unknown whose answer never comes', async () => {
    const connector = await connect();
    const time = new AbortController();
    server.fault = () => time.abort(new Error('timed out'));
    expect(await call(connector, 'pay', time.signal)).toMatchObject({ kind: 'unknown' });
  });

  it('connects anew where the server has forgotten it, and the call in between was not sent twice', async () => {
    const connector = await connect();
    server.forget();
    expect(await call(connector)).toMatchObject({ kind: 'failed' });
    await until(async () => connector.health().connected, { what: 'it is connected again' });
    expect(await call(connector)).toMatchObject({ kind: 'succeeded' });
    expect(server.calls).toHaveLength(1);
  });

  it('says that nothing was sent where nobody listens, and finds the server when it is back', async () => {
    const connector = await connect();
    await server.stop();
    expect(await call(connector)).toMatchObject({ kind: 'failed', code: 'unavailable' });
    expect(connector.tools()).toHaveLength(2);
    await server.start();
    await until(async () => connector.health().connected, { what: 'it is connected again' });
    expect(await call(connector)).toMatchObject({ kind: 'succeeded' });
  });

  it('starts without a server, and lists its tools when there is one', async () => {
    await server.stop();
    const { connector, log } = start();
    await connector.firstAttempt;
    expect(connector.tools()).toEqual([]);
    expect(connector.health()).toMatchObject({ connected: false });
    expect(log.some(({ level }) => level === 'warn')).toBe(true);
    await server.start();
    await until(async () => connector.tools().length === 2, { what: 'its tools are listed' });
  });

  it('gives up on an answer without end, and on one that is no protocol at all', async () => {
    const chunk = Buffer.alloc(1 << 20, 'x');
    const hostile = createServer((request, response) => {
      if (request.url === '/plain')
        return void response.writeHead(200, { 'content-type': 'text/html' }).end('hello');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const pour = () => {
        if (response.destroyed) return;
        if (response.write(chunk)) setImmediate(pour);
        else response.once('drain', pour);
      };
      pour();
    });
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
    const { port } = hostile.address() as AddressInfo;
    for (const path of ['plain', 'endless']) {
      const { connector } = start(`http://127.0.0.1:${port}/${path}`);
      await until(async () => connector.health().detail.startsWith('not connected'), {
        what: `${path} is given up`,
      });
      await connector.stop();
    }
    hostile.closeAllConnections();
    await new Promise((resolve) => hostile.close(resolve));
  });
});
