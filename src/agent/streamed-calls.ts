import { z } from 'zod';
import { argumentsText } from './chat-completion.ts';

const NOTHING = { index: null, id: null, function: null };

const pieceShape = z
  .object({
    index: z.int().min(0).nullish().catch(null),
    id: z.string().nullish().catch(null),
    function: z
      .object({ name: z.string().nullish().catch(null), arguments: z.unknown().optional() })
      .nullish()
      .catch(null),
  })
  .catch(NOTHING);

/** The tool calls of an answer that comes in chunks, each put together from its pieces. */
export class StreamedCalls {
  readonly #calls: StreamedCall[] = [];
  readonly #byIndex = new Map<number, StreamedCall>();
  readonly #byId = new Map<string, StreamedCall>();

  add(given: unknown): void {
    const { index, id, function: said } = pieceShape.parse(given);
    const piece = {
      index: index ?? null,
      id: id ?? '',
      name: said?.name ?? '',
      text: argumentsText(said?.arguments),
    };
    const call = this.#callOf(piece);
    call.id = joined(call.id, piece.id);
    call.name = joined(call.name, piece.name);
    call.arguments += piece.text;
    if (piece.index !== null) this.#byIndex.set(piece.index, call);
    if (piece.id !== '') this.#byId.set(piece.id, call);
  }

  /** In the order of their indices; those without one where they came. */
  all() {
    return this.#calls
      .toSorted((one, other) => one.index - other.index)
      .map(({ id, name, arguments: text }) => ({ id, function: { name, arguments: text } }));
  }

  /**
   * The call that a piece goes on with, or a new one. The index says it, but for servers that give none, or the same to
   * every call: their pieces go by their ids, and begin a call where they bring a name behind one that is whole. What is
   * put together wrongly is no JSON any more, and does not run.
   */
  #callOf(piece: CallPiece): StreamedCall {
    const known = piece.index === null ? this.#withoutIndex(piece) : this.#byIndex.get(piece.index);
    if (known !== undefined && !beginsAnother(piece, known)) return known;
    const next = (this.#calls.at(-1)?.index ?? -1) + 1;
    const call = {
      index: known === undefined ? (piece.index ?? next) : next,
      id: '',
      name: '',
      arguments: '',
    };
    this.#calls.push(call);
    return call;
  }

  #withoutIndex({ id, name }: CallPiece): StreamedCall | undefined {
    if (id !== '') return this.#byId.get(id);
    const last = this.#calls.at(-1);
    return name === '' || last?.name === '' ? last : undefined;
  }
}

interface CallPiece {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

interface StreamedCall {
  readonly index: number;
  id: string;
  name: string;
  arguments: string;
}

const beginsAnother = (piece: CallPiece, call: StreamedCall): boolean =>
  piece.name !== '' &&
  (piece.text.trim() !== '' || (piece.id !== '' && piece.id !== call.id)) &&
  isWhole(call.arguments);

function isWhole(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Some send name and id once, some again with every piece, some in pieces. */
const joined = (before: string, piece: string): string => (before === piece ? before : before + piece);
