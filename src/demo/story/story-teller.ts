/** Prints the story line by line and remembers whether each check came out right. */
export class StoryTeller {
  readonly #print: (line: string) => void;
  #passed = 0;
  #failed = 0;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  get passed(): number {
    return this.#passed;
  }

  get failed(): number {
    return this.#failed;
  }

  chapter(title: string): void {
    this.#print(`\n${title}`);
  }

  /** Something that happens. */
  tell(sentence: string): void {
    this.#print(`    ${sentence}`);
  }

  /** Something that has to be so. `found` is what there was instead, for whoever reads a failure. */
  check(sentence: string, holds: boolean, found: () => unknown = () => null): void {
    if (holds) {
      this.#passed += 1;
      this.#print(`  ✓ ${sentence}`);
      return;
    }
    this.#failed += 1;
    this.#print(`  ✗ ${sentence}`);
    const instead = found();
    if (instead !== null) this.#print(`      found: ${JSON.stringify(instead)}`);
  }

  /** A chapter that could not be told to its end. */
  brokenOff(error: unknown): void {
    this.#failed += 1;
    this.#print(`  ✗ broken off: ${error instanceof Error ? error.message : String(error)}`);
  }
}
