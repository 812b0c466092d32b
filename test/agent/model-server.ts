import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chunksOf, LiveStream, type StreamPart } from './model-stream.ts';

export interface WireCall {
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: unknown;
}

/** What a scripted model does when it is asked: answer, call tools, or misbehave as a server can. */
export type Turn =
  | { readonly text: string }
  | { readonly calls: readonly WireCall[] }
  /** One JSON body, whether a stream was asked for or not. */
  | { readonly raw: unknown }
  /** These chunks, and then the end, or a break. */
  | { readonly stream: readonly StreamPart[]; readonly ending?: 'end' | 'break' | 'open' }
  /** A stream in the hands of the test. */
  | { readonly live: (stream: LiveStream) => void }
  | { readonly status: number; readonly headers?: Record<string, string> }
  /** Whatever this is, behind status 200 where it does not say another. */
  | { readonly body: string; readonly contentType: string; readonly status?: number }
  /** Nothing at all comes back. */
  | { readonly silent: true }
  /** The answer begins, and never goes on. */
  | { readonly stall: true }
  | { readonly breakOff: true };

export interface WireMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
}

export interface ModelRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly stream_options?: object;
  readonly messages: readonly WireMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/**
 * A model behind the real wire format, which streams where it is asked to. Each model name has a script of its own, one
 * turn a request. As strict as the
 * strict providers: every tool call of a turn has exactly one result, right behind it, and none has another; and the
 * arguments of each are a JSON object.
 */
export class ModelServer {
  readonly requests: ModelRequest[] = [];
  readonly #scripts = new Map<string, ((request: ModelRequest) => Turn)[]>();
  readonly #followers = new Map<string, (request: ModelRequest) => Turn>();
  readonly #server: Server;

  /** Without `streams` it answers as servers do that know of none: in one piece, whatever they are asked. */
  constructor({ streams = true } = {}) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ModelRequest;
        this.requests.push(body);
        const fault = faultOfHistory(body.messages);
        const turn = fault
          ? { status: 400 }
          : (this.#scripts.get(body.model)?.shift()?.(body) ??
            this.#followers.get(body.model)?.(body) ?? { text: 'nothing left to say' });
        if ('silent' in turn) return;
        if ('stall' in turn) {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write('{"choices":');
          return;
        }
        if ('body' in turn) {
          response.writeHead(turn.status ?? 200, { 'content-type': turn.contentType });
          response.end(turn.body);
          return;
        }
        if ('breakOff' in turn) {
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
          response.write('{"choices":');
          setTimeout(() => response.destroy(), 5);
          return;
        }
        if ('status' in turn) {
          response.writeHead(turn.status, { 'content-type': 'application/json', ...turn.headers });
          response.end(JSON.stringify({ error: { message: fault ?? 'sk-secret-of-the-tests is no good' } }));
          return;
        }
        if ('stream' in turn) {
          const stream = streamOver(response);
          for (const part of turn.stream) stream.send(part);
          if (turn.ending === 'break') stream.break();
          else if (turn.ending !== 'open') stream.end();
          return;
        }
        if ('live' in turn) {
          turn.live(streamOver(response));
          return;
        }
        if (!('raw' in turn) && body.stream === true && streams) {
          const stream = streamOver(response);
          for (const chunk of chunksOf(turn)) stream.send(chunk);
          stream.end();
          return;
        }
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify('raw' in turn ? turn.raw : completionOf(turn)));
      });
    });
  }

  /** Base URL for the model's configuration. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  stop(): Promise<unknown> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  script(model: string, turns: readonly (Turn | ((request: ModelRequest) => Turn))[]): void {
    this.#scripts.set(
      model,
      turns.map((turn) => (typeof turn === 'function' ? turn : () => turn)),
    );
  }

  /** A model that answers by what it is asked, for runs side by side; a script comes first. */
  follow(model: string, answer: (request: ModelRequest) => Turn): void {
    this.#followers.set(model, answer);
  }

  requestsOf(model: string): readonly ModelRequest[] {
    return this.requests.filter((request) => request.model === model);
  }
}

/** The results that the last turn's calls got, in the order in which the model sees them. */
export const toolResults = (request: ModelRequest | undefined): string[] => {
  const messages = request?.messages ?? [];
  const lastTurn = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.slice(lastTurn + 1).map(({ content }) => content ?? '');
};

export const toolResult = (request: ModelRequest | undefined): Record<string, unknown> =>
  JSON.parse(toolResults(request)[0] ?? 'null') as Record<string, unknown>;

function streamOver(response: ServerResponse): LiveStream {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  return new LiveStream(response);
}

const completionOf = (turn: { text: string } | { calls: readonly WireCall[] }) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'text' in turn ? 'stop' : 'tool_calls',
      message:
        'text' in turn
          ? { role: 'assistant', content: turn.text }
          : {
              role: 'assistant',
              content: null,
              tool_calls: turn.calls.map(({ id, ...call }) => ({
                ...(id !== undefined && { id }),
                type: 'function',
                function: {
                  ...(call.name !== undefined && { name: call.name }),
                  arguments:
                    typeof call.arguments === 'string'
                      ? call.arguments
                      : JSON.stringify(call.arguments ?? {}),
                },
              })),
            },
    },
  ],
});

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function faultOfHistory(messages: readonly WireMessage[]): string | null {
  let expected: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      const index = expected.indexOf(message.tool_call_id ?? '');
      if (index === -1) return `unknown or repeated tool_call_id ${message.tool_call_id}`;
      expected.splice(index, 1);
      continue;
    }
    if (expected.length > 0) return `no result for ${expected.join(', ')}`;
    expected = (message.tool_calls ?? []).map(({ id }) => id);
    for (const call of message.tool_calls ?? []) {
      if (!isObjectText(call.function.arguments)) return 'arguments that are no JSON object';
    }
    if (new Set(expected).size !== expected.length) return 'repeated ids in one turn';
  }
  return expected.length > 0 ? `no result for ${expected.join(', ')}` : null;
}
