import { type ConfigFault, type ConfigPath, formatPath } from './config-fault.ts';

/** More than anybody reads; a file of rubbish must not fill the memory with what is wrong with it. */
const MOST_FAULTS = 1_000;

/** Where the checks put what they find, so that all of it is listed and not only the first. */
export class FaultCollector {
  readonly #faults: ConfigFault[] = [];
  readonly #warnings: ConfigFault[] = [];
  readonly #lineOf: (path: ConfigPath) => number | null;
  readonly #redact: (text: string) => string;

  constructor(source: {
    readonly lineOf: (path: ConfigPath) => number | null;
    readonly redact: (text: string) => string;
  }) {
    this.#lineOf = source.lineOf;
    this.#redact = source.redact;
  }

  /** Another list over the same file. */
  beside(): FaultCollector {
    return new FaultCollector({ lineOf: this.#lineOf, redact: this.#redact });
  }

  /** Something that stops the start. */
  fault(path: ConfigPath, message: string): void {
    this.#add(this.#faults, path, message);
  }

  /** Something that works but hardly as it was meant. */
  warning(path: ConfigPath, message: string): void {
    this.#add(this.#warnings, path, message);
  }

  get faults(): readonly ConfigFault[] {
    return inFileOrder(this.#faults);
  }

  get warnings(): readonly ConfigFault[] {
    return inFileOrder(this.#warnings);
  }

  #add(list: ConfigFault[], path: ConfigPath, message: string): void {
    if (list.length > MOST_FAULTS) return;
    if (list.length === MOST_FAULTS)
      list.push({ path: '', line: null, message: 'has more faults than are listed' });
    else
      list.push({
        path: this.#redact(formatPath(path)),
        line: this.#lineOf(path),
        message: this.#redact(message),
      });
  }
}

const inFileOrder = (list: readonly ConfigFault[]): readonly ConfigFault[] =>
  list.toSorted((a, b) => (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER));
