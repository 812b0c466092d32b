/** A request for TLS, which a client's opening message follows; PostgreSQL's protocol 3, "Message Formats". */
const SSL_REQUEST = 80_877_103;
/** Parse, Bind, Describe, Execute, Close: their answer is sent once the client has sent something else. */
const UNFINISHED = /[PBDEC]/;

/**
 * What one side of a connection to PostgreSQL sends, in pieces of whole messages: a socket may cut it anywhere, and
 * whoever looks for words in it would miss those that are cut. A client's statement is one piece with its values.
 */
export class WholeMessages {
  readonly #from: 'client' | 'server';
  #chunks: Buffer[] = [];
  #length = 0;
  #needed = 1;
  #opened: boolean;

  constructor(from: 'client' | 'server') {
    this.#from = from;
    this.#opened = from === 'server';
  }

  /** What is whole by now and was not given before; null: nothing yet. */
  next(chunk: Buffer): Buffer | null {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return null;
    const all = Buffer.concat(this.#chunks);
    const whole = this.#wholeIn(all);
    const rest = all.subarray(whole);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return whole === 0 ? null : all.subarray(0, whole);
  }

  #wholeIn(bytes: Buffer): number {
    let whole = 0;
    for (let at = 0; ; ) {
      const head = this.#opened ? 1 : 0;
      // Of what is shorter than its length says, nothing is looked at again before it is all there.
      this.#needed = at + head + 4 - whole;
      if (bytes.length < at + head + 4) return whole;
      const end = at + head + bytes.readInt32BE(at + head);
      this.#needed = end - whole;
      if (bytes.length < end) return whole;
      if (!this.#opened) this.#opened = bytes.readInt32BE(at + 4) !== SSL_REQUEST;
      else if (this.#from === 'client' && UNFINISHED.test(String.fromCharCode(bytes[at] ?? 0))) {
        at = end;
        continue;
      }
      at = end;
      whole = end;
    }
  }
}
