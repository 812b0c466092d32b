/**
 * The text of a JSON object that comes in pieces, and whether it is whole. Costs as much as it is long, into however many
 * pieces it is cut: each is looked at once, and the text is parsed at most once.
 */
export class GrowingObject {
  #text = '';
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** What lies outside the one object; nothing can make it whole again. */
  #isSpoilt = false;
  #isClosed = false;
  #parses: boolean | null = null;

  get text(): string {
    return this.#text;
  }

  get isWhole(): boolean {
    if (!this.#isClosed || this.#isSpoilt) return false;
    // From here on only blanks can follow, or it is spoilt.
    this.#parses ??= isJson(this.#text);
    return this.#parses;
  }

  add(piece: string): void {
    this.#text += piece;
    for (const character of piece) {
      if (this.#isSpoilt) return;
      if (this.#inString) this.#takeInString(character);
      else this.#take(character);
    }
  }

  #takeInString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#inString = false;
  }

  #take(character: string): void {
    if (this.#depth === 0) {
      const begins = character === '{' && !this.#isClosed;
      if (begins) this.#depth = 1;
      else this.#isSpoilt = character.trim() !== '';
      return;
    }
    if (character === '"') this.#inString = true;
    else if (character === '{' || character === '[') this.#depth += 1;
    else if (character === '}' || character === ']') this.#depth -= 1;
    this.#isClosed = this.#depth === 0;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
