import type { ASTNode } from '@marcbachmann/cel-js';
import type { ConditionBudget } from './condition-budget.ts';
import { ConditionFailure } from './condition-failure.ts';
import { loopOf, nodesOf } from './condition-nodes.ts';

/** For the error that is made, kept and perhaps swallowed; its place in the text is counted out from the beginning. */
const stepsPerFailure = ({ start }: ASTNode): number => 300 + start / 8;
/** What one step pays for, in the units of `bulkOf`, by what is done with the value. */
const BULK_PER_STEP = { compared: 48, joined: 24, scanned: 4, handedOn: 64, spelledOut: 12 } as const;
const BULK_OF_ANYTHING = 24;

const BINARY: ReadonlySet<string> = new Set([
  ...['==', '!=', '<', '<=', '>', '>=', 'in'],
  ...['+', '-', '*', '/', '%'],
]);

/**
 * What the library keeps of a checked node: `handle` does the operation on evaluated operands, `meta.evaluate` the whole
 * node. Not in its type declarations; a version that works otherwise is refused here, when a condition is compiled.
 */
interface CheckedNode {
  handle?: (...operands: unknown[]) => unknown;
  readonly meta: { evaluate?: (evaluator: unknown, node: unknown, context: unknown) => unknown };
  setMeta(key: 'evaluate', value: unknown): unknown;
}

/**
 * Makes each operation of a checked text charge for what it is about to work on: a loop may take the same long text, or a
 * list that it joins to itself, hundreds of times, and none of that is read from the facts again. Once the budget is
 * spent, the parts of an `||` or `&&` are not tried one after the other any more. To be called after the type check.
 */
export function meterOperations(root: ASTNode, budget: ConditionBudget): void {
  for (const node of nodesOf(root)) {
    const checked = node as unknown as CheckedNode;
    const range = loopOf(node)?.iterable;
    if (node.op === '||' || node.op === '&&') meterLogic(checked, budget);
    else if (BINARY.has(node.op)) meterHandle(node, budget, stepsOfBinary(node.op, budget));
    else if (node.op === '-_' || node.op === '!_') meterHandle(node, budget, noSteps);
    // A macro has no operation of its own; the loop that it is expanded to pays for its range, and where that is none.
    else if (range !== undefined) meterHandle(range, budget, noSteps);
    else if (checked.handle !== undefined) meterHandle(node, budget, stepsOfCall(node, budget));
  }
}

type StepsOf = (first: unknown, second: unknown) => number;
const noSteps: StepsOf = () => 1;

function stepsOfBinary(op: string, budget: ConditionBudget): StepsOf {
  const perStep = op === '+' ? BULK_PER_STEP.joined : BULK_PER_STEP.compared;
  return (left, right) =>
    isSmall(left) && isSmall(right)
      ? 1
      : 1 + (bulkOf(left, budget.left * perStep) + bulkOf(right, budget.left * perStep)) / perStep;
}

/** Of a call the first operand is the list of its arguments, the receiver among them; of `a.b` and `a[b]` it is `a`. */
function stepsOfCall({ op }: ASTNode, budget: ConditionBudget): StepsOf {
  // What is no key is spelled out in the failure.
  const { spelledOut } = BULK_PER_STEP;
  if (op === '[]')
    return (_, key) => (isSmall(key) ? 1 : 1 + bulkOf(key, budget.left * spelledOut) / spelledOut);
  if (op !== 'call' && op !== 'rcall') return noSteps;
  return (given) => {
    let steps = 1;
    for (const value of Array.isArray(given) ? given : []) {
      if (typeof value === 'string') steps += value.length / BULK_PER_STEP.scanned;
      else if (!isSmall(value))
        steps += bulkOf(value, budget.left * BULK_PER_STEP.handedOn) / BULK_PER_STEP.handedOn;
    }
    return steps;
  };
}

function meterHandle(node: ASTNode, budget: ConditionBudget, stepsOf: StepsOf): void {
  const checked = node as unknown as CheckedNode;
  const { handle } = checked;
  if (handle === undefined) throw new Error(`The library keeps ${node.op} in another way than it did.`);
  checked.handle = function metered(this: unknown, first, second, third, fourth) {
    try {
      budget.charge(stepsOf(first, second));
      return handle.call(this, first, second, third, fourth);
    } catch (error) {
      if (!budget.exhausted) budget.charge(stepsPerFailure(node));
      // Where the budget was spent, for whoever explains it; placing it in the text each time again is dear.
      if (error instanceof ConditionFailure && error.node === undefined) error.withAst(node);
      throw error;
    }
  };
}

function meterLogic(checked: CheckedNode, budget: ConditionBudget): void {
  const { evaluate } = checked.meta;
  if (evaluate === undefined) throw new Error('The library evaluates logic in another way than it did.');
  checked.setMeta('evaluate', (evaluator: unknown, node: unknown, context: unknown) => {
    budget.charge(1);
    return evaluate(evaluator, node, context);
  });
}

const isSmall = (value: unknown): boolean =>
  typeof value === 'string' ? value.length <= BULK_PER_STEP.compared : partsOf(value) === null;

/** Of a list, and of a map that the text itself makes; maps of the facts charge for themselves as they are read. */
const partsOf = (value: unknown): readonly unknown[] | null =>
  Array.isArray(value)
    ? value
    : typeof value === 'object' && value !== null && value.constructor === Object
      ? Object.values(value)
      : null;

/**
 * How much of a value there is to look at: characters, and a share for everything else. Lists are counted through, as a
 * comparison would go through them, but no further than `most`: one that holds itself many times over has no end.
 */
function bulkOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length;
  const parts = partsOf(value);
  if (parts === null) return BULK_OF_ANYTHING;
  let bulk = BULK_OF_ANYTHING;
  for (let index = 0; index < parts.length && bulk <= most; index += 1) {
    const element = parts[index];
    bulk += BULK_OF_ANYTHING;
    // Nearly all of them: without a call each, this is several times as fast.
    if (typeof element === 'string') bulk += element.length;
    else if (typeof element === 'object') bulk += bulkOf(element, most - bulk);
  }
  return bulk;
}
