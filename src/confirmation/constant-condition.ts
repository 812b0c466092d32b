import type { ASTNode } from '@marcbachmann/cel-js';
import { compileCondition } from './condition.ts';
import { ConditionBudget } from './condition-budget.ts';
import { createConditionEnvironment } from './condition-environment.ts';
import { nodesOf } from './condition-nodes.ts';

/** What a variable may turn out to be; a comparison with anything else is decided before any call. */
export interface PossibleFacts {
  mayBeTool(name: string): boolean;
  mayBeRequester(id: string): boolean;
}

/**
 * Whether a condition that compiles is true, or false, for every call there can be; null where it depends, or where
 * that is not seen. Sees constants, contradicting comparisons of one thing with constants, and tools and people that
 * are not there. For people who write policies: nothing that decides about a call asks this.
 */
export function constantOf(text: string, possible: PossibleFacts): boolean | null {
  const environment = createConditionEnvironment(new ConditionBudget(), new Map());
  return fold(environment.parse(text).ast, text, possible);
}

function fold(node: ASTNode, text: string, possible: PossibleFacts): boolean | null {
  const folded = (operand: ASTNode): boolean | null => fold(operand, text, possible);
  switch (node.op) {
    case '&&': {
      const parts = conjunctsOf(node);
      const values = parts.map(folded);
      if (values.includes(false) || contradict(parts, text)) return false;
      return values.every((value) => value === true) ? true : null;
    }
    case '||': {
      const values = node.args.map(folded);
      if (values.includes(true)) return true;
      return values.every((value) => value === false) ? false : null;
    }
    case '!_': {
      const value = folded(node.args);
      return value === null ? null : !value;
    }
    case '?:': {
      const [condition, yes, no] = node.args.map(folded);
      if (condition !== null) return (condition ? yes : no) ?? null;
      return yes === no ? (yes ?? null) : null;
    }
    case '==':
    case '!=':
      if (isImpossible(node, possible)) return node.op === '!=';
      return valueWithoutFacts(node, text);
    case 'in': {
      const [left, right] = node.args;
      if (right.op !== 'list') return valueWithoutFacts(node, text);
      const all = right.args.every((element) => isImpossiblePair(left, element, possible));
      return all ? false : valueWithoutFacts(node, text);
    }
    default:
      return valueWithoutFacts(node, text);
  }
}

function conjunctsOf(node: ASTNode): readonly ASTNode[] {
  return node.op === '&&' ? node.args.flatMap(conjunctsOf) : [node];
}

/** The value of an expression that mentions no variable at all. */
function valueWithoutFacts(node: ASTNode, text: string): boolean | null {
  for (const inner of nodesOf(node)) if (inner.op === 'id') return null;
  return constantValue(text.slice(node.start, node.end));
}

function constantValue(constant: string): boolean | null {
  const condition = compileCondition(constant);
  if (condition.kind === 'faulty') return null;
  const nothing = { tool: '', args: {}, agent: '', requester: null, session: null, metadata: {} };
  const answer = condition.evaluate(nothing);
  return answer.kind === 'value' ? answer.value : null;
}

function isImpossible(node: ASTNode, possible: PossibleFacts): boolean {
  if (node.op !== '==' && node.op !== '!=') return false;
  const [left, right] = node.args;
  return isImpossiblePair(left, right, possible) || isImpossiblePair(right, left, possible);
}

function isImpossiblePair(variable: ASTNode, value: ASTNode, possible: PossibleFacts): boolean {
  if (variable.op !== 'id' || value.op !== 'value' || typeof value.args !== 'string') return false;
  if (variable.args === 'tool') return !possible.mayBeTool(value.args);
  return variable.args === 'requester' && value.args !== '' && !possible.mayBeRequester(value.args);
}

const COMPARISONS = { '==': '==', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;
type Comparison = keyof typeof COMPARISONS;

interface Bound {
  /** What is compared, and with which constant, as they stand in the text. */
  readonly what: string;
  readonly comparison: Comparison;
  readonly constant: string;
}

/** Two of the comparisons, of the same thing with constants, can never hold together. */
function contradict(parts: readonly ASTNode[], text: string): boolean {
  const bounds = parts.flatMap((part) => boundIn(part, text));
  return bounds.some((one, index) =>
    bounds.slice(index + 1).some((other) => one.what === other.what && excludes(one, other)),
  );
}

function boundIn(node: ASTNode, text: string): Bound[] {
  if (!Object.hasOwn(COMPARISONS, node.op)) return [];
  const comparison = node.op as Comparison;
  const [left, right] = node.args as readonly [ASTNode, ASTNode];
  const part = ({ start, end }: ASTNode): string => text.slice(start, end).trim();
  if (isConstant(right) && !isConstant(left))
    return [{ what: part(left), comparison, constant: part(right) }];
  if (isConstant(left) && !isConstant(right))
    return [{ what: part(right), comparison: COMPARISONS[comparison], constant: part(left) }];
  return [];
}

function isConstant(node: ASTNode): boolean {
  for (const inner of nodesOf(node)) if (inner.op === 'id') return false;
  return true;
}

function excludes(one: Bound, other: Bound): boolean {
  if (one.comparison === '==' && other.comparison === '==')
    return constantValue(`${one.constant} == ${other.constant}`) === false;
  const floor = [one, other].find(({ comparison }) => /^(?:>|>=|==)$/.test(comparison));
  const ceiling = [one, other].find((bound) => bound !== floor && /^(?:<|<=|==)$/.test(bound.comparison));
  if (floor === undefined || ceiling === undefined) return false;
  const touching = floor.comparison !== '>' && ceiling.comparison !== '<';
  return constantValue(`${floor.constant} ${touching ? '<=' : '<'} ${ceiling.constant}`) === false;
}
