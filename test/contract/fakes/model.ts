import { type Loopback, loopback, type Reply } from './loopback.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface ModelMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_call_id?: string;
}

export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
  readonly stream?: boolean;
}

/** One turn of the script: what the model says, what it calls, or a raw answer of the server. */
export type Turn = { readonly say?: string; readonly calls?: readonly ToolCall[] } | { readonly raw: Reply };

/** A Chat Completions server that plays a script, as whole answers or as a stream, whichever is asked for. */
export class FakeModel {
  script: Turn[] = [];
  readonly requests: ModelRequest[] = [];
  readonly authorizations: (string | undefined)[] = [];
  #loopback: Loopback | undefined;

  async start() {
    this.#loopback = await loopback((heard) => {
      if (heard.path !== '/v1/chat/completions')
        return { status: 404, json: { error: { message: 'no route' } } };
      const request = JSON.parse(heard.body) as ModelRequest;
      this.requests.push(request);
      this.authorizations.push(heard.headers.authorization);
      const turn = this.script.shift() ?? { say: 'The script is over.' };
      if ('raw' in turn) return turn.raw;
      return request.stream ? streamed(turn) : { json: whole(turn) };
    });
    return this;
  }

  get baseUrl() {
    return `${this.#loopback?.url}/v1`;
  }

  async stop() {
    await this.#loopback?.close();
  }

  /** The tool messages of the latest request, by call id, parsed where they are JSON. */
  toolMessages(): Map<string, Record<string, unknown>> {
    const messages = this.requests.at(-1)?.messages ?? [];
    return new Map(
      messages
        .filter((message) => message.role === 'tool')
        .map((message) => [message.tool_call_id ?? '', parsed(String(message.content))]),
    );
  }
}

export function call(id: string, name: string, args: unknown): ToolCall {
  return { id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

function whole(turn: { readonly say?: string; readonly calls?: readonly ToolCall[] }) {
  const calls = (turn.calls ?? []).map(({ id, ...named }) => ({ id, type: 'function', function: named }));
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: turn.say ?? null,
          ...(calls.length ? { tool_calls: calls } : {}),
        },
        finish_reason: calls.length ? 'tool_calls' : 'stop',
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function streamed(turn: { readonly say?: string; readonly calls?: readonly ToolCall[] }): Reply {
  const chunk = (delta: unknown, finish: string | null = null) =>
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
  const calls = (turn.calls ?? []).map(({ id, ...named }, index) =>
    chunk({ tool_calls: [{ index, id, type: 'function', function: named }] }),
  );
  const words = turn.say ? [chunk({ content: turn.say })] : [];
  return {
    stream: [
      chunk({ role: 'assistant' }),
      ...words,
      ...calls,
      chunk({}, calls.length ? 'tool_calls' : 'stop'),
      '[DONE]',
    ],
  };
}
