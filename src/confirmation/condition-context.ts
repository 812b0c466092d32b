import type { JsonObject } from '../json.ts';
import type { ConditionBudget } from './condition-budget.ts';
import { FactMap } from './condition-facts.ts';
import type { FactReads } from './fact-reads.ts';

/** What a condition can look at, as the variables `tool args agent requester session metadata`. */
export interface ConditionFacts {
  readonly tool: string;
  readonly args: Readonly<JsonObject>;
  readonly agent: string;
  /** A person's id; null reads as the empty text. */
  readonly requester: string | null;
  /** Null reads as the empty text. */
  readonly session: string | null;
  /** What the agent sent along. */
  readonly metadata: Readonly<JsonObject>;
}

/**
 * The variables of one evaluation, by name. Getters on the class: the evaluator asks for a variable only where the text
 * comes to it, and hundreds of conditions are evaluated for one call.
 */
export class ConditionContext {
  readonly #facts: ConditionFacts;
  readonly #budget: ConditionBudget;
  readonly #reads: FactReads | null;

  constructor(facts: ConditionFacts, budget: ConditionBudget, reads: FactReads | null) {
    this.#facts = facts;
    this.#budget = budget;
    this.#reads = reads;
  }

  get tool(): string {
    this.#reads?.add('tool');
    return this.#facts.tool;
  }

  get args(): FactMap {
    return new FactMap(this.#facts.args, this.#budget, '', this.#reads);
  }

  get agent(): string {
    this.#reads?.add('agent');
    return this.#facts.agent;
  }

  get requester(): string {
    this.#reads?.add('requester');
    return this.#facts.requester ?? '';
  }

  get session(): string {
    this.#reads?.add('session');
    return this.#facts.session ?? '';
  }

  get metadata(): FactMap {
    return new FactMap(this.#facts.metadata, this.#budget, 'metadata', this.#reads);
  }
}
