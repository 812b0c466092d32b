import type { JsonObject, JsonValue } from '../json.ts';
import { type ConditionBudget, TOO_COSTLY } from './condition-budget.ts';
import { ConditionFailure } from './condition-failure.ts';
import type { FactReads } from './fact-reads.ts';

/** What a condition may look at in one piece; a call with more in a place that a condition reads is denied. */
export const LONGEST_TEXT = 8_192;
export const LONGEST_LIST = 1_000;

/** Of a key, or of a list however short. */
const STEPS_PER_READ = 10;
/** Of a map whose keys are listed or counted, which is one thing to the engine. */
const STEPS_PER_KEY = 6;

/**
 * A JSON object as a condition sees it: read-only, own keys alone (`__proto__` and `constructor` are names like
 * others and reach no prototype), wrapped piece by piece as it is read, each piece charged to the budget.
 */
export class FactMap extends Map<string, unknown> {
  readonly #source: Readonly<JsonObject>;
  readonly #budget: ConditionBudget;
  readonly #path: string;
  readonly #reads: FactReads | null;

  /** `path` is the name of the object for messages: empty for the arguments themselves. */
  constructor(
    source: Readonly<JsonObject>,
    budget: ConditionBudget,
    path: string,
    reads: FactReads | null = null,
  ) {
    super();
    this.#source = source;
    this.#budget = budget;
    this.#path = path;
    this.#reads = reads;
  }

  override get(key: string): unknown {
    if (!this.has(key)) return undefined;
    this.#budget.charge(STEPS_PER_READ);
    return readFact(this.#source[key] as JsonValue, this.#budget, this.#pathOf(key), this.#reads);
  }

  override has(key: string): boolean {
    if (typeof key !== 'string') return false;
    // That something is missing is read as well.
    const path = this.#pathOf(key);
    if (this.#reads?.takes(path)) this.#reads.add(named(path));
    return Object.hasOwn(this.#source, key);
  }

  #pathOf(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }

  override get size(): number {
    const { length } = Object.keys(this.#source);
    this.#budget.charge(STEPS_PER_KEY * length);
    return length;
  }

  override keys(): MapIterator<string> {
    const keys = Object.keys(this.#source);
    this.#budget.charge(STEPS_PER_KEY * keys.length);
    return keys.values() as MapIterator<string>;
  }

  override *[Symbol.iterator](): MapIterator<[string, unknown]> {
    for (const key of this.keys()) yield [key, this.get(key)];
  }

  /**
   * Empty on purpose. The evaluator asks this only to name the type of the first entry, and keeps each type it ever
   * named: an agent that sends ever new nestings would fill the memory with them.
   */
  override entries(): MapIterator<[string, unknown]> {
    return ([] as [string, unknown][]).values() as MapIterator<[string, unknown]>;
  }
}

// The evaluator recognizes a map by its constructor and takes subclasses for unknown objects.
Object.defineProperty(FactMap.prototype, 'constructor', { value: Map });

/** Messages call an argument by its path alone; beside other facts it needs its whole name. */
const named = (path: string): string => (/^metadata(?:\.|$)/.test(path) ? path : `args.${path}`);

function readFact(value: JsonValue, budget: ConditionBudget, path: string, reads: FactReads | null): unknown {
  if (typeof value === 'string') {
    if (value.length > LONGEST_TEXT) throw tooLarge(path);
    budget.charge(value.length / 8);
    return value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return new FactMap(value, budget, path, reads);
  if (value.length > LONGEST_LIST) throw tooLarge(path);
  budget.charge(STEPS_PER_READ + 2 * value.length);
  return value.map((element, index) => readFact(element, budget, `${path}[${index}]`, reads));
}

const tooLarge = (path: string): ConditionFailure => new ConditionFailure(TOO_COSTLY, { argument: path });
