import { type ASTNode, EvaluationError } from '@marcbachmann/cel-js';
import { ConditionFailure } from './condition-failure.ts';
import { OtherCurrency } from './condition-money.ts';
import { nodesOf, operandsOf } from './condition-nodes.ts';

export interface FailureExplanation {
  /** One sentence for the agent; holds no value of an argument. */
  readonly message: string;
  readonly argument: string | null;
}

const LONGEST_ARGUMENT_NAME = 200;

/** Says in plain words why an evaluation failed, and which argument is at fault where that can be known. */
export function explainFailure(error: unknown, root: ASTNode): FailureExplanation {
  const found = error instanceof EvaluationError ? argumentAtFault(error, root) : null;
  // A key of the agent's own making can be of any length.
  const argument = found !== null && found.length > LONGEST_ARGUMENT_NAME ? null : found;
  const subject = argument === null ? 'An argument' : `The argument ${argument}`;
  return { message: `${subject} ${reasonOf(error)}.`, argument };
}

// The library's own messages quote values, so only their codes are used.
function reasonOf(error: unknown): string {
  if (error instanceof ConditionFailure) return error.reason;
  switch (error instanceof EvaluationError ? error.code : null) {
    case 'no_such_key':
    case 'index_out_of_bounds':
      return 'is missing';
    case 'no_such_overload':
    case 'no_matching_overload':
    case 'invalid_comprehension_range':
    case 'invalid_condition_type':
    case 'invalid_logical_operand':
      return 'has the wrong type for the condition';
    default:
      return 'cannot be used by the condition';
  }
}

function argumentAtFault(error: EvaluationError, root: ASTNode): string | null {
  if (error instanceof ConditionFailure && error.argument !== null) return error.argument;
  if (error instanceof OtherCurrency) return onlyArgument(currenciesIn(root));
  // A node of a helper expression of our own stands nowhere in the condition's text.
  const node = error.node?.input === root.input ? error.node : undefined;
  if (node === undefined) return onlyArgumentIn(root);
  if (error.code === 'no_such_key') return pathOf(node) ?? onlyArgumentIn(node) ?? onlyArgumentIn(root);
  if (error instanceof ConditionFailure && error.parameter !== null && node.op === 'call') {
    const parameter = node.args[1][error.parameter];
    const found = parameter === undefined ? null : (pathOf(parameter) ?? onlyArgumentIn(parameter));
    if (found !== null) return found;
  }
  return onlyArgumentIn(node) ?? onlyArgumentIn(root);
}

/** `args.payee.account` → `payee.account`; null for anything that is not a plain path into the arguments. */
function pathOf(node: ASTNode): string | null {
  if (node.op === 'id') return node.args === 'args' ? '' : null;
  if (node.op !== '.' && node.op !== '[]') return null;
  const parent = pathOf(node.args[0]);
  if (parent === null) return null;
  const key = node.op === '.' ? node.args[1] : node.args[1].op === 'value' ? node.args[1].args : null;
  if (typeof key === 'bigint') return `${parent}[${key}]`;
  if (typeof key !== 'string') return null;
  return parent === '' ? key : `${parent}.${key}`;
}

function onlyArgumentIn(root: ASTNode): string | null {
  return onlyArgument([root]);
}

/** The one path into the arguments that the expressions mention, where they mention one alone. */
function onlyArgument(roots: readonly ASTNode[]): string | null {
  const paths = new Set<string>();
  for (const root of roots) collectPaths(root, paths);
  const [path] = paths;
  return paths.size === 1 && path !== undefined ? path : null;
}

function collectPaths(node: ASTNode, paths: Set<string>): void {
  const path = pathOf(node);
  if (path !== null && path !== '') {
    paths.add(path);
    return;
  }
  for (const operand of operandsOf(node)) collectPaths(operand, paths);
}

/** The currency operands of each `money(amount, currency)` under the node. */
function currenciesIn(node: ASTNode): ASTNode[] {
  const currencies: ASTNode[] = [];
  for (const call of nodesOf(node)) {
    if (call.op !== 'call' || call.args[0] !== 'money') continue;
    const currency = call.args[1][1];
    if (currency !== undefined) currencies.push(currency);
  }
  return currencies;
}
