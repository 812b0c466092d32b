import { z } from 'zod';
import { textOf } from './chat-completion.ts';
import { StreamedCalls } from './streamed-calls.ts';

const delta = z
  .object({
    content: z.unknown().optional(),
    refusal: z.unknown().optional(),
    tool_calls: z.array(z.unknown()).nullish().catch(null),
  })
  .nullish()
  .catch(null);

/** Read as leniently as a whole answer is; what cannot be read says nothing. Some servers write `message` for `delta`. */
const chunkShape = z.object({
  choices: z
    .array(
      z
        .object({
          index: z.int().min(0).nullish().catch(null),
          delta,
          message: delta,
          finish_reason: z.string().nullish().catch(null),
        })
        .nullable()
        .catch(null),
    )
    .nullish()
    .catch(null),
  usage: z.unknown().optional(),
});

/** A completion that comes in chunks, put together to what the server would have sent in one piece. */
export class StreamedCompletion {
  #choice: StreamedChoice = newChoice(Number.POSITIVE_INFINITY);
  #usage: unknown = null;

  add(chunk: unknown): void {
    const { data } = chunkShape.safeParse(chunk);
    if (data === undefined) return;
    // The last one that counts: some send it growing with every chunk, most in one of its own without choices.
    if (data.usage !== null && data.usage !== undefined) this.#usage = data.usage;
    for (const part of data.choices ?? []) {
      const index = part?.index ?? 0;
      // Of several answers the first is taken, as of a completion in one piece.
      if (part === null || index > this.#choice.index) continue;
      if (index < this.#choice.index) this.#choice = newChoice(index);
      const said = part.delta ?? part.message;
      this.#choice.content += textOf(said?.content);
      this.#choice.refusal += textOf(said?.refusal);
      for (const call of said?.tool_calls ?? []) this.#choice.calls.add(call);
      // Empty until the end, with some.
      if (part.finish_reason) this.#choice.finish = part.finish_reason;
    }
  }

  /** The words so far. */
  get text(): string {
    return this.#choice.content;
  }

  /** Whether the model came to its end. What ends otherwise is no answer, however whole its calls look. */
  get isFinished(): boolean {
    return this.#choice.finish !== null;
  }

  whole() {
    const { content, refusal, calls, finish } = this.#choice;
    return {
      choices: [{ finish_reason: finish, message: { content, refusal, tool_calls: calls.all() } }],
      usage: this.#usage,
    };
  }
}

interface StreamedChoice {
  readonly index: number;
  readonly calls: StreamedCalls;
  content: string;
  refusal: string;
  finish: string | null;
}

const newChoice = (index: number): StreamedChoice => ({
  index,
  calls: new StreamedCalls(),
  content: '',
  refusal: '',
  finish: null,
});
