import type { ServerResponse } from 'node:http';
import type { WireCall } from './model-server.ts';

/** A chunk, or whatever else goes over the wire, as it stands. */
export type StreamPart = object | string;

/** An answer under way, as a server sends it. */
export class LiveStream {
  /** Resolves when nobody listens any more, or everything is said. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.closed = new Promise((resolve) => response.on('close', resolve));
  }

  send(part: StreamPart): void {
    this.#response.write(typeof part === 'string' ? part : `data: ${JSON.stringify(part)}\n\n`);
  }

  end(): void {
    this.#response.end('data: [DONE]\n\n');
  }

  /** The connection breaks, once what was sent is there. */
  break(): void {
    setTimeout(() => this.#response.destroy(), 20);
  }
}

/** A turn in the hands of the test, and the stream once the model was asked. */
export function liveTurn() {
  let begin = (_stream: LiveStream) => {};
  const stream = new Promise<LiveStream>((resolve) => {
    begin = resolve;
  });
  return { turn: { live: (begun: LiveStream) => begin(begun) }, stream };
}

export const chunk = (delta: object, finish: string | null = null, index: number | null = 0): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ ...(index !== null && { index }), delta, finish_reason: finish }],
});

export const words = (content: string): object => chunk({ content });

export const callPiece = (piece: {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: unknown;
}): object => {
  const { index, id, ...named } = piece;
  return chunk({
    tool_calls: [{ ...(index !== undefined && { index }), ...(id !== undefined && { id }), function: named }],
  });
};

export const finish = (reason: string): object => chunk({}, reason);

/** An answer as a provider cuts it up: words and arguments in pieces, the end in a chunk of its own. */
export function chunksOf(turn: { text: string } | { calls: readonly WireCall[] }): StreamPart[] {
  const beginning = chunk({ role: 'assistant', content: null });
  if ('text' in turn) return [beginning, ...halves(turn.text).map(words), finish('stop')];
  const calls = turn.calls.flatMap(({ arguments: given, ...begin }, index) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
    return [
      callPiece({ index, ...begin, arguments: '' }),
      ...halves(text).map((half) => callPiece({ index, arguments: half })),
    ];
  });
  return [beginning, ...calls, ': the line is open\n\n', finish('tool_calls')];
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
