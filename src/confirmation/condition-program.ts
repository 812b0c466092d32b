import { EvaluationError, ParseError, TypeError as TypeFault } from '@marcbachmann/cel-js';
import type { RE2JS } from 're2js';
import { ConditionBudget, TOO_COSTLY } from './condition-budget.ts';
import { ConditionContext, type ConditionFacts } from './condition-context.ts';
import { BOUNDED, createConditionEnvironment } from './condition-environment.ts';
import { exactTypeFault } from './condition-exact-types.ts';
import { explainFailure } from './condition-explanation.ts';
import { ConditionFailure } from './condition-failure.ts';
import { meterOperations } from './condition-metering.ts';
import { overloadHint } from './condition-overload-hint.ts';
import { boundSyntax, ConditionSyntaxFault, mentionsAgentInput } from './condition-syntax.ts';
import type { FactReads } from './fact-reads.ts';

/** A text that does not compile. `column` counts its characters from 1; null where no place is known. */
export interface ConditionFault {
  readonly kind: 'faulty';
  readonly message: string;
  readonly column: number | null;
}

/** It has no value for this call. `argument` names the one at fault (`lines[2].amount`) where that is known. */
export interface ConditionFailed {
  readonly kind: 'failed';
  readonly message: string;
  readonly argument: string | null;
}

export interface ConditionProgram<Value> {
  readonly kind: 'compiled';
  /**
   * Never throws, changes nothing, and ends within a few milliseconds whatever the facts hold. The names of what was
   * looked at are added to `reads`.
   */
  evaluate(
    facts: ConditionFacts,
    reads?: FactReads | null,
  ): { readonly kind: 'value'; readonly value: Value } | ConditionFailed;
  /** It refers to `metadata` or `session`, which come from the agent. */
  readonly usesAgentInput: boolean;
}

/** What a text has to give. */
export interface ExpectedResult<Value> {
  /** What is wrong with the static type of the text, as a sentence; null: nothing. */
  typeFault(type: string): string | null;
  /** Throws a ConditionFailure for a value of another type, which a dynamic text may give. */
  read(value: unknown): Value;
}

const LONGEST_CONDITION = 4_096;

/**
 * Compiles a text of a policy: CEL, type-checked, with exact `decimal` and `money`, and `matches` on a linear-time
 * engine. The text is the operator's; the facts are hostile.
 */
export function compileProgram<Value>(
  text: string,
  expected: ExpectedResult<Value>,
): ConditionProgram<Value> | ConditionFault {
  if (text.length > LONGEST_CONDITION) {
    const message = `A condition has at most ${LONGEST_CONDITION} characters.`;
    return { kind: 'faulty', message, column: null };
  }
  const budget = new ConditionBudget();
  const patterns = new Map<string, RE2JS>();
  const environment = createConditionEnvironment(budget, patterns);
  try {
    const program = environment.parse(text);
    boundSyntax(program.ast, patterns, (source) => environment.parse(source));
    const { valid, type, error } = program.check();
    if (!valid) throw error;
    const typeFault = expected.typeFault(String(type));
    if (typeFault !== null) return { kind: 'faulty', message: typeFault, column: 1 };
    const fault = exactTypeFault(program.ast);
    if (fault !== null) throw fault;
    meterOperations(program.ast, budget);
    return {
      kind: 'compiled',
      usesAgentInput: mentionsAgentInput(program.ast),
      evaluate(facts, reads = null) {
        budget.reset();
        try {
          const value: unknown = program(new ConditionContext(facts, budget, reads));
          // Checked last: an expression may have swallowed the failure, and its value then means nothing.
          if (budget.exhausted) throw new ConditionFailure(TOO_COSTLY);
          return { kind: 'value', value: expected.read(value) };
        } catch (error) {
          return { kind: 'failed', ...explainFailure(error, program.ast) };
        }
      },
    };
  } catch (error) {
    return { kind: 'faulty', ...explainFault(error) };
  }
}

function explainFault(error: unknown): { readonly message: string; readonly column: number | null } {
  if (error instanceof ConditionSyntaxFault) return { message: error.message, column: error.offset + 1 };
  if (error instanceof ParseError || error instanceof TypeFault || error instanceof EvaluationError) {
    // Our stand-ins for built-in functions go by the built-in names.
    const message = error.summary.includes(BOUNDED.range)
      ? 'A loop needs a list or a map'
      : error.summary.replace(/\bbounded(Matches|Contains)\b/g, (_, name: string) => name.toLowerCase());
    return {
      message: `${message}${overloadHint(message)}.`,
      column: error.range === undefined ? null : error.range.start + 1,
    };
  }
  // A range error of the parser's recursion, say: the text is at fault, not the process.
  return { message: `It cannot be read: ${(error as Error).message}.`, column: null };
}
