import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ResultSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { type Clock, sleep } from '../clock.ts';
import type { McpConnectorConfig } from '../config/config.ts';
import type { AgentLogger } from './invoke-ports.ts';
import { McpNotSent, McpRefused } from './mcp-fault.ts';
import { createMcpHttpTransport } from './mcp-http-transport.ts';
import { McpStdioTransport } from './mcp-stdio-transport.ts';

/** Programs that have to be fetched first (`npx`) take their time. */
const CONNECT_TIMEOUT_MS = 60_000;

/** One connection to a server, initialized. Everything it rejects with is classified by `mcp-call.ts`. */
export interface McpSession {
  /** One request and its result, whatever that holds. The signal's abort is the only time-out. */
  request(method: 'tools/list' | 'tools/call', params: object, signal: AbortSignal): Promise<unknown>;
  /** Aborts with the reason when the connection is over. */
  readonly over: AbortSignal;
  /** Resolves when the server says that its tools have changed, after `withinMs`, or when the connection is over. */
  changed(withinMs: number): Promise<void>;
  /** Ends the connection and, where it is one, the program; may be repeated. */
  close(): Promise<void>;
}

/** Connects and shakes hands. Rejects where that does not come about in time; nothing is left behind then. */
export async function openMcpSession(input: {
  readonly connector: McpConnectorConfig;
  readonly clock: Clock;
  readonly logger: AgentLogger;
  readonly signal: AbortSignal;
}): Promise<McpSession> {
  const { connector, clock, logger, signal } = input;
  const over = new AbortController();
  const end = (reason: Error) => over.abort(reason);
  const transport = transportFor(connector, clock, logger, end);
  // No capabilities: a server that asks for a model, a person or files of ours is refused by the client.
  const client = new Client({ name: 'countersign', version: '1' }, { capabilities: {} });
  let announced = new AbortController();
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => announced.abort());
  client.onclose = () => end(new Error('the connection was closed'));
  // What a call has to know of, it is told; the rest is noise of the other side.
  client.onerror = () => {};

  const close = async () => {
    end(new Error('the connection was given up'));
    await transport.close().catch(() => {});
    await client.close().catch(() => {});
  };
  try {
    const tooLate = new AbortController();
    const cancelTimer = clock.setTimer(CONNECT_TIMEOUT_MS, () =>
      tooLate.abort(new Error('it did not answer in time')),
    );
    try {
      await untilAborted(
        client.connect(transport, { timeout: CONNECT_TIMEOUT_MS }),
        AbortSignal.any([tooLate.signal, signal, over.signal]),
      );
    } finally {
      cancelTimer();
    }
  } catch (error) {
    await close();
    throw error;
  }

  return {
    over: over.signal,
    async request(method, params, requestSignal) {
      if (over.signal.aborted) throw new McpNotSent('the connection is over');
      try {
        return await client.request({ method, params: { ...params } }, ResultSchema, {
          signal: requestSignal,
          // The signal decides; the client's own time would end a long call early.
          timeout: LONGEST_TIMER_MS,
        });
      } catch (error) {
        // The server is gone, or does not know the session any more: only a new connection mends that.
        if (error instanceof McpNotSent || (error instanceof McpRefused && error.status === 404)) end(error);
        throw error;
      }
    },
    async changed(withinMs) {
      const current = announced.signal;
      const until = AbortSignal.any([current, over.signal]);
      await sleep(clock, withinMs, until).catch(() => {});
      if (current.aborted) announced = new AbortController();
    },
    close,
  };
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

function transportFor(
  connector: McpConnectorConfig,
  clock: Clock,
  logger: AgentLogger,
  onMisbehaved: (error: Error) => void,
): Transport {
  const { server } = connector;
  if (server.transport === 'http') return createMcpHttpTransport(server, clock, onMisbehaved);
  return new McpStdioTransport({
    server,
    clock,
    onMisbehaved,
    onStderr: (line) =>
      logger.info({ connector: connector.id, line }, 'an MCP server wrote to its error output'),
  });
}

/** The promise's result, or the signal's reason where that comes first. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
