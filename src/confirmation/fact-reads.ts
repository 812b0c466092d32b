/** More than anybody reads; an agent's arguments decide how many there are. */
const MOST_READS = 50;
const LONGEST_NAME = 200;

/** Names of the facts that one evaluation looked at. Names only: what they held is not told. */
export class FactReads {
  readonly #names = new Set<string>();

  add(name: string): void {
    if (this.takes(name)) this.#names.add(name.replaceAll(/\[\d+\]/g, '[]'));
  }

  /** To be asked before a name is worked out from `text`: a key of the agent's own making can be of any length. */
  takes(text: string): boolean {
    return this.#names.size < MOST_READS && text.length <= LONGEST_NAME;
  }

  /** Without those on the way to others: `args.payee.account` says that `args.payee` was read as well. */
  get names(): readonly string[] {
    const all = [...this.#names];
    return all.filter(
      (name) => !all.some((other) => other.startsWith(`${name}.`) || other.startsWith(`${name}[`)),
    );
  }
}
