import { z } from 'zod';
import { argumentsText } from './chat-completion.ts';
import { GrowingObject } from './growing-object.ts';
import { orNothing, placeShape } from './streamed-value.ts';

const pieceShape = z.object({
  index: placeShape,
  id: orNothing(z.union([z.string(), z.number().transform(String)])),
  function: orNothing(z.object({ name: orNothing(z.string()), arguments: z.unknown().optional() })),
});

/** The tool calls of an answer that comes in chunks, each put together from its pieces. */
export class StreamedCalls {
  readonly #calls: StreamedCall[] = [];
  readonly #byIndex = new Map<number, StreamedCall>();
  readonly #byId = new Map<string, StreamedCall>();
  #holdsNonsense = false;

  add(given: unknown): void {
    const { data } = pieceShape.safeParse(given);
    if (data === undefined) {
      this.#holdsNonsense = true;
      return;
    }
    const piece = {
      index: data.index ?? null,
      id: data.id ?? '',
      name: data.function?.name ?? '',
      text: argumentsText(data.function?.arguments),
    };
    const known = this.#known(piece);
    if (known === undefined && piece.id + piece.name + piece.text === '') return;
    if (known !== undefined && cutsIn(piece, known)) this.#holdsNonsense = true;
    const call = known === undefined || beginsAnother(piece, known) ? this.#begin(piece, known) : known;
    call.id = joined(call.id, piece.id);
    call.name = joined(call.name, piece.name);
    call.arguments.add(piece.text);
    if (piece.index !== null) this.#byIndex.set(piece.index, call);
    if (piece.id !== '') this.#byId.set(piece.id, call);
  }

  /**
   * Whether a piece could not be read, or belonged to no call: what it was a part of is not what the model wrote. One call
   * without a name may be all that the model wrote; beside others, it is what is missing in one of them.
   */
  get isGarbled(): boolean {
    return this.#holdsNonsense || (this.#calls.length > 1 && this.#calls.some(({ name }) => name === ''));
  }

  /** In the order of their indices; those without one where they came. */
  all() {
    const seen = new Set<string>();
    return this.#calls
      .filter((call) => !isAmong(seen, call))
      .toSorted((one, other) => one.index - other.index)
      .map(({ id, name, arguments: { text } }) => ({ id, function: { name, arguments: text } }));
  }

  /**
   * The call that a piece goes on with, unless it begins another one. The index says it, but for servers that give none, or
   * the same to every call: their pieces go by their ids, and begin a call where they bring a name behind one that is
   * whole. What is put together wrongly is no JSON any more, and does not run.
   */
  #known(piece: CallPiece): StreamedCall | undefined {
    return piece.index === null ? this.#withoutIndex(piece) : this.#byIndex.get(piece.index);
  }

  #begin({ index }: CallPiece, before: StreamedCall | undefined): StreamedCall {
    const next = (this.#calls.at(-1)?.index ?? -1) + 1;
    const call = {
      index: before === undefined ? (index ?? next) : next,
      place: index ?? before?.place ?? null,
      id: '',
      name: '',
      arguments: new GrowingObject(),
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
  /** Orders them. */
  readonly index: number;
  /** What the server said of that, of this call or the one it came behind. */
  readonly place: number | null;
  id: string;
  name: string;
  readonly arguments: GrowingObject;
}

/**
 * Whether the same call is there already, by its id and its place: some servers send all of it once more. One that runs
 * twice would be worse than one that the model has to ask for again.
 */
function isAmong(seen: Set<string>, { id, place, name, arguments: { text } }: StreamedCall): boolean {
  if (id === '' && place === null) return false;
  const key = JSON.stringify([id, place, name, text]);
  const isThere = seen.has(key);
  seen.add(key);
  return isThere;
}

/** Another call begins in the middle of this one's arguments, at the same place. */
const cutsIn = (piece: CallPiece, call: StreamedCall): boolean =>
  piece.name !== '' &&
  piece.id !== '' &&
  piece.id !== call.id &&
  call.arguments.text !== '' &&
  !call.arguments.isWhole;

const beginsAnother = (piece: CallPiece, call: StreamedCall): boolean =>
  piece.name !== '' &&
  (piece.text.trim() !== '' || (piece.id !== '' && piece.id !== call.id)) &&
  call.arguments.isWhole;

/** Some send name and id once, some again with every piece, some in pieces. */
const joined = (before: string, piece: string): string => (before === piece ? before : before + piece);
