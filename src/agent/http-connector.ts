import type { ConnectorToolConfig, HttpConnectorConfig } from '../config/config.ts';
import type { JsonObject } from '../json.ts';
import { exchangeHttp, type HttpExchange } from './http-exchange.ts';
import type { ToolExecution, ToolOutcome } from './tool.ts';
import { parseToolResult } from './tool-result.ts';

/** How much of an answer is kept. */
const MAX_BODY_BYTES = 1024 * 1024;
/** RFC 9110: the same request has to be made again elsewhere, so this one was not acted on. */
const REQUEST_NOT_TAKEN: ReadonlySet<number> = new Set([307, 308]);
const HEADERS_OF_OURS = {
  accept: 'application/json, text/plain;q=0.9, */*;q=0.1',
  'accept-encoding': 'identity',
};

/**
 * Runs one tool of an HTTP connector: arguments as the JSON body (`GET`: as the query), the invocation id as
 * `Idempotency-Key`. 2xx succeeded; 4xx failed; 5xx, or anything that goes wrong once the request may have been sent, is
 * unknown; a connection that was never made failed. A redirect is never followed: to a `GET`, and as 307 and 308 (the
 * request was not taken), it is a failure; any other may be how a system says that it did what was asked.
 */
export async function executeOverHttp(
  connector: HttpConnectorConfig,
  tool: ConnectorToolConfig,
  call: ToolExecution,
): Promise<ToolOutcome> {
  const exchange = await exchangeHttp({
    method: tool.method,
    url: urlOf(connector, tool, call.args),
    headers: {
      ...HEADERS_OF_OURS,
      ...lowerCased(connector.headers),
      'idempotency-key': call.invocationId,
    },
    body: tool.method === 'GET' ? null : JSON.stringify(call.args),
    maxBodyBytes: MAX_BODY_BYTES,
    signal: call.signal,
  });
  return outcomeOf(exchange, tool.method);
}

function outcomeOf(exchange: HttpExchange, method: ConnectorToolConfig['method']): ToolOutcome {
  switch (exchange.kind) {
    case 'not-connected':
      return {
        kind: 'failed',
        code: 'unavailable',
        message: `The tool could not be reached (${exchange.reason}); nothing was sent.`,
        result: null,
      };
    case 'broken':
      return {
        kind: 'unknown',
        message: `The request was sent and no complete answer came back (${exchange.reason}).`,
      };
    case 'answered':
      return outcomeOfAnswer(exchange, method);
  }
}

function outcomeOfAnswer(
  { status, body, cut }: Extract<HttpExchange, { kind: 'answered' }>,
  method: ConnectorToolConfig['method'],
): ToolOutcome {
  const result = cut ? `${body}\n[the answer was cut at ${MAX_BODY_BYTES} bytes]` : parseToolResult(body);
  if (status >= 200 && status < 300) return { kind: 'succeeded', result };
  if (status >= 500) {
    return { kind: 'unknown', message: `The tool answered with status ${status}; it may have run.` };
  }
  if (status >= 300 && status < 400) {
    if (method !== 'GET' && !REQUEST_NOT_TAKEN.has(status)) {
      return {
        kind: 'unknown',
        message: `The tool answered with a redirect (status ${status}); it may have run.`,
      };
    }
    return {
      kind: 'failed',
      code: 'tool_failed',
      message: `The tool answered with a redirect (status ${status}), which is not followed.`,
      result,
    };
  }
  return {
    kind: 'failed',
    code: status === 429 ? 'rate_limited' : 'tool_failed',
    message: `The tool answered with status ${status}.`,
    result,
  };
}

/** The operator's URL as it stands; for `GET` the arguments follow as query parameters. */
function urlOf(connector: HttpConnectorConfig, tool: ConnectorToolConfig, args: JsonObject): URL {
  const url = new URL(connector.baseUrl.replace(/\/+$/, '') + tool.path);
  if (tool.method === 'GET') {
    for (const [name, value] of Object.entries(args)) {
      url.searchParams.append(name, typeof value === 'string' ? value : JSON.stringify(value));
    }
  }
  return url;
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
