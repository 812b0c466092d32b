import { z } from 'zod';
import { gravestEnd, isEnd, textOf } from './chat-completion.ts';
import { StreamedCalls } from './streamed-calls.ts';
import { orNothing, placeShape, saysNothing } from './streamed-value.ts';

const saidShape = orNothing(
  z.looseObject({
    content: z.unknown().optional(),
    refusal: z.unknown().optional(),
    tool_calls: orNothing(z.array(z.unknown())),
  }),
);

const chunkShape = z.object({
  choices: z.array(z.unknown()).nullish().catch(null),
  usage: z.unknown().optional(),
});

/** Some servers write `message` for `delta`. */
const choiceShape = z.object({
  index: placeShape.catch(undefined),
  delta: saidShape,
  message: saidShape,
  finish_reason: z.string().nullish().catch(null),
});

/**
 * A completion that comes in chunks, put together to what the server would have sent in one piece. Chunks that hold no
 * choice say nothing, whatever they are; a choice that cannot be read may have been a part of a call, and then nobody can
 * say what the call was.
 */
export class StreamedCompletion {
  #choice: StreamedChoice = newChoice(Number.POSITIVE_INFINITY);
  #usage: unknown = null;
  #holdsUnreadable = false;

  add(chunk: unknown): void {
    const { data } = chunkShape.safeParse(chunk);
    if (data === undefined) return;
    const parts = data.choices ?? [];
    // The last one that counts: some send it growing with every chunk, most in one of its own without choices.
    if (data.usage !== null && data.usage !== undefined) {
      this.#usage = data.usage;
      if (parts.length === 0 && this.isFinished) this.#choice.end = 'for sure';
    }
    for (const [place, given] of parts.entries()) {
      if (given === null) continue;
      const { data: part } = choiceShape.safeParse(given);
      if (part === undefined) this.#holdsUnreadable = true;
      // Of several answers the first is taken, as of a completion in one piece.
      else if ((part.index ?? place) <= this.#choice.index) this.#take(part, part.index ?? place);
    }
  }

  /** The words so far. */
  get text(): string {
    return this.#choice.content;
  }

  /** Whether the model came to its end. What ends otherwise is no answer, however whole its calls look. */
  get isFinished(): boolean {
    return this.#choice.end !== null;
  }

  /**
   * Whether nothing of the answer can follow, whatever becomes of the connection. Some servers name an end with every
   * piece: one that came together with a piece is the end only where the stream ends, too.
   */
  get isFinishedForSure(): boolean {
    return this.#choice.end === 'for sure';
  }

  /** Whether parts of it contradict each other, or could not be read: there is no telling what was meant. */
  get isGarbled(): boolean {
    return this.#holdsUnreadable || this.#choice.calls.isGarbled;
  }

  whole() {
    const { content, refusal, calls, ends } = this.#choice;
    return {
      choices: [{ finish_reason: gravestEnd(ends), message: { content, refusal, tool_calls: calls.all() } }],
      usage: this.#usage,
    };
  }

  #take({ delta, message, finish_reason: finish }: z.infer<typeof choiceShape>, index: number): void {
    if (index < this.#choice.index) this.#choice = newChoice(index);
    // A message behind pieces is the whole answer once more: put behind them, every call would be there twice.
    if (!isHeard(delta) && isHeard(message) && this.#choice.cameInPieces) {
      this.#choice = { ...newChoice(index), ends: this.#choice.ends };
    }
    const choice = this.#choice;
    const said = isHeard(delta) ? delta : (message ?? delta);
    if (isHeard(said)) {
      choice.content += textOf(said.content);
      choice.refusal += textOf(said.refusal);
      for (const call of said.tool_calls ?? []) choice.calls.add(call);
      choice.cameInPieces = choice.cameInPieces || said === delta;
      // More came behind what was named as the end.
      choice.end = null;
    }
    if (!isEnd(finish ?? '')) return;
    choice.ends.push(finish ?? '');
    choice.end = Object.entries(said ?? {}).every(([field, value]) => field === 'role' || saysNothing(value))
      ? 'for sure'
      : 'with a piece';
  }
}

interface StreamedChoice {
  readonly index: number;
  readonly calls: StreamedCalls;
  content: string;
  refusal: string;
  /** Everything that was named as the reason of its end. */
  readonly ends: string[];
  end: 'with a piece' | 'for sure' | null;
  cameInPieces: boolean;
}

const newChoice = (index: number): StreamedChoice => ({
  index,
  calls: new StreamedCalls(),
  content: '',
  refusal: '',
  ends: [],
  end: null,
  cameInPieces: false,
});

type Said = z.infer<typeof saidShape>;

/** Whether it holds anything of an answer; what else servers put there is not read. */
const isHeard = (said: Said): said is NonNullable<Said> =>
  said !== undefined && ![said.content, said.refusal, said.tool_calls].every(saysNothing);
