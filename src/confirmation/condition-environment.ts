import { Environment } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';
import type { ConditionBudget } from './condition-budget.ts';
import { ExactDecimal } from './condition-decimal.ts';
import { Money } from './condition-money.ts';

/**
 * What a condition's text may call. Left out of the language on purpose: what makes values that grow without end
 * (`cel.bind`, `split`, `join`), and what takes more than linear time (`duration` of a text).
 */
export const CONDITION_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['all', 'exists', 'exists_one', 'filter', 'map', 'has', 'size', 'type', 'dyn'],
  ...['startsWith', 'endsWith', 'contains', 'matches', 'lowerAscii', 'upperAscii', 'trim', 'substring'],
  ...['bool', 'int', 'double', 'string', 'timestamp', 'decimal', 'money'],
]);

/** Names of our own that take the place of built-in functions in the syntax tree; no text can call them itself. */
export const BOUNDED = {
  matches: 'boundedMatches',
  contains: 'boundedContains',
  range: 'boundedRange',
} as const;

const sync = { async: false } as const;

/** Everything that does not depend on one condition. */
const shared = new Environment({
  limits: { maxAstNodes: 500, maxDepth: 32, maxListElements: 200, maxMapEntries: 50, maxCallArguments: 8 },
})
  .registerVariable('tool', 'string')
  .registerVariable('args', 'map<string, dyn>')
  .registerVariable('agent', 'string')
  .registerVariable('requester', 'string')
  .registerVariable('session', 'string')
  .registerVariable('metadata', 'map<string, dyn>')
  .registerType('decimal', { ctor: ExactDecimal, fields: {} })
  .registerType('money', { ctor: Money, fields: {} });

/** What an operation on exact numbers costs, by their lengths in words. A quotient is worked out to all its digits. */
const STEPS = {
  add: (a: Exact, b: Exact) => 40 + 4 * (a.words + b.words),
  compare: (a: Exact, b: Exact) => 40 + a.words + b.words,
  multiply: (a: Exact, b: Exact) => 80 + 2 * a.words * b.words,
  divide: (_: Exact, b: Exact) => 2_000 + 400 * b.words,
} as const;

interface Exact {
  readonly words: number;
}

interface Ordered extends Exact {
  compare(other: Ordered): number;
  equals(other: Ordered): boolean;
}

/** Of a text; what is no text is refused at once. */
const stepsToRead = (value: unknown): number => 60 + (typeof value === 'string' ? 4 * value.length : 0);

function registerExactNumbers(environment: Environment, budget: ConditionBudget): void {
  const operator = <Left extends Exact, Right extends Exact>(
    signature: string,
    cost: keyof typeof STEPS,
    apply: (left: Left, right: Right) => unknown,
  ): void => {
    environment.registerOperator(signature, (left: Left, right: Right) => {
      budget.charge(STEPS[cost](left, right));
      return apply(left, right);
    });
  };
  // Both functions take anything, so that their failure names the parameter; what cannot be right is refused before.
  environment
    .registerFunction(
      'decimal(dyn): decimal',
      (value: unknown) => {
        budget.charge(stepsToRead(value));
        return ExactDecimal.from(value, 0);
      },
      sync,
    )
    .registerFunction(
      'money(dyn, dyn): money',
      (amount: unknown, code: unknown) => {
        budget.charge(stepsToRead(amount));
        return Money.from(amount, code);
      },
      sync,
    );
  operator('decimal + decimal', 'add', (a: ExactDecimal, b: ExactDecimal) => a.plus(b));
  operator('decimal - decimal', 'add', (a: ExactDecimal, b: ExactDecimal) => a.minus(b));
  operator('decimal * decimal', 'multiply', (a: ExactDecimal, b: ExactDecimal) => a.times(b));
  operator('decimal / decimal', 'divide', (a: ExactDecimal, b: ExactDecimal) => a.dividedBy(b));
  environment.registerOperator('-decimal', (a: ExactDecimal) => {
    budget.charge(STEPS.compare(a, a));
    return a.negated();
  });
  operator('money + money', 'add', (a: Money, b: Money) => a.plus(b));
  operator('money - money', 'add', (a: Money, b: Money) => a.minus(b));
  operator('money * decimal', 'multiply', (a: Money, b: ExactDecimal) => a.times(b));
  for (const type of ['decimal', 'money']) {
    operator(`${type} == ${type}`, 'compare', (a: Ordered, b: Ordered) => a.equals(b));
    operator(`${type} < ${type}`, 'compare', (a: Ordered, b: Ordered) => a.compare(b) < 0);
    operator(`${type} <= ${type}`, 'compare', (a: Ordered, b: Ordered) => a.compare(b) <= 0);
    operator(`${type} > ${type}`, 'compare', (a: Ordered, b: Ordered) => a.compare(b) > 0);
    operator(`${type} >= ${type}`, 'compare', (a: Ordered, b: Ordered) => a.compare(b) >= 0);
  }
}

/**
 * The language of one condition: the shared part, and the functions that charge its budget. `patterns` holds the
 * compiled regular expressions of its text, by their own text.
 */
export function createConditionEnvironment(
  budget: ConditionBudget,
  patterns: ReadonlyMap<string, RE2JS>,
): Environment {
  const range = <T>(elements: T, stepsPerElement: bigint): T => {
    budget.charge(lengthOf(elements) * Number(stepsPerElement));
    return elements;
  };
  const environment = shared.clone();
  registerExactNumbers(environment, budget);
  return environment
    .registerFunction(`${BOUNDED.range}(list<V>, int): list<V>`, range, sync)
    .registerFunction(`${BOUNDED.range}(map<K, V>, int): map<K, V>`, range, sync)
    .registerFunction(
      `string.${BOUNDED.contains}(string): bool`,
      (text: string, part: string) => {
        // The search takes the product of both lengths at worst.
        budget.charge((text.length * part.length) / 256);
        return text.includes(part);
      },
      sync,
    )
    .registerFunction(
      `string.${BOUNDED.matches}(string): bool`,
      (text: string, pattern: string) => {
        const compiled = patterns.get(pattern);
        if (compiled === undefined) throw new Error('A pattern was not compiled with its condition.');
        // An automaton without backtracking: each character meets each state once at most.
        budget.charge((text.length * compiled.programSize()) / 2);
        return compiled.test(text);
      },
      sync,
    );
}

/** Compiles a pattern for the linear-time engine. Throws where the syntax is wrong or needs backtracking. */
export const compilePattern = (pattern: string): RE2JS => RE2JS.compile(pattern);

const lengthOf = (elements: unknown): number =>
  Array.isArray(elements)
    ? elements.length
    : elements instanceof Map
      ? elements.size
      : Object.keys(elements ?? {}).length;
