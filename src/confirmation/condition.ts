import { EvaluationError, ParseError, TypeError as TypeFault } from '@marcbachmann/cel-js';
import type { RE2JS } from 're2js';
import type { JsonObject } from '../json.ts';
import { ConditionBudget, TOO_COSTLY } from './condition-budget.ts';
import { BOUNDED, createConditionEnvironment } from './condition-environment.ts';
import { exactTypeFault } from './condition-exact-types.ts';
import { explainFailure } from './condition-explanation.ts';
import { FactMap } from './condition-facts.ts';
import { ConditionFailure } from './condition-failure.ts';
import { boundSyntax, ConditionSyntaxFault, mentionsAgentInput } from './condition-syntax.ts';

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

export type ConditionValue =
  | { readonly kind: 'value'; readonly value: boolean }
  /** It has no value for this call. `argument` names the argument at fault (`lines[2].amount`) where that is known. */
  | { readonly kind: 'failed'; readonly message: string; readonly argument: string | null };

export type CompiledCondition =
  | {
      readonly kind: 'compiled';
      /** Never throws, changes nothing, and ends within a few milliseconds whatever the facts hold. */
      evaluate(facts: ConditionFacts): ConditionValue;
      /** It refers to `metadata` or `session`, which come from the agent: its policy may only tighten. */
      readonly usesAgentInput: boolean;
    }
  /** `column` counts characters of the text from 1; null where no place is known. */
  | { readonly kind: 'faulty'; readonly message: string; readonly column: number | null };

const LONGEST_CONDITION = 4_096;

/**
 * Compiles the `when` of a policy: CEL, type-checked, boolean, with exact `decimal` and `money`, and `matches` on a
 * linear-time engine. The text is the operator's; the facts are hostile.
 */
export function compileCondition(text: string): CompiledCondition {
  if (text.length > LONGEST_CONDITION)
    return {
      kind: 'faulty',
      message: `A condition has at most ${LONGEST_CONDITION} characters.`,
      column: null,
    };
  const budget = new ConditionBudget();
  const patterns = new Map<string, RE2JS>();
  const environment = createConditionEnvironment(budget, patterns);
  try {
    const program = environment.parse(text);
    boundSyntax(program.ast, patterns, (source) => environment.parse(source));
    const { valid, type, error } = program.check();
    if (!valid) throw error;
    if (type !== 'bool' && type !== 'dyn')
      return {
        kind: 'faulty',
        message: `A condition has to be true or false, this one is a ${type}.`,
        column: 1,
      };
    const fault = exactTypeFault(program.ast);
    if (fault !== null) throw fault;
    return {
      kind: 'compiled',
      usesAgentInput: mentionsAgentInput(program.ast),
      evaluate(facts) {
        budget.reset();
        try {
          const value: unknown = program(contextOf(facts, budget));
          // Checked last: an expression may have swallowed the failure, and its value then means nothing.
          if (budget.exhausted) throw new ConditionFailure(TOO_COSTLY);
          if (typeof value === 'boolean') return { kind: 'value', value };
          throw new ConditionFailure('is neither true nor false');
        } catch (error) {
          return { kind: 'failed', ...explainFailure(error, program.ast) };
        }
      },
    };
  } catch (error) {
    return { kind: 'faulty', ...explainFault(error) };
  }
}

const contextOf = (facts: ConditionFacts, budget: ConditionBudget): Record<string, unknown> => ({
  tool: facts.tool,
  args: new FactMap(facts.args, budget, ''),
  agent: facts.agent,
  requester: facts.requester ?? '',
  session: facts.session ?? '',
  metadata: new FactMap(facts.metadata, budget, 'metadata'),
});

function explainFault(error: unknown): { readonly message: string; readonly column: number | null } {
  if (error instanceof ConditionSyntaxFault) return { message: error.message, column: error.offset + 1 };
  if (error instanceof ParseError || error instanceof TypeFault || error instanceof EvaluationError) {
    // Our stand-ins for built-in functions go by the built-in names.
    const message = error.summary.includes(BOUNDED.range)
      ? 'A loop needs a list or a map'
      : error.summary.replace(/\bbounded(Matches|Contains)\b/g, (_, name: string) => name.toLowerCase());
    return { message: `${message}.`, column: error.range === undefined ? null : error.range.start + 1 };
  }
  // A range error of the parser's recursion, say: the text is at fault, not the process.
  return { message: `It cannot be read: ${(error as Error).message}.`, column: null };
}
