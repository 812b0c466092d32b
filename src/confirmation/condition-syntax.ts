import type { ASTNode } from '@marcbachmann/cel-js';
import type { RE2JS } from 're2js';
import { BOUNDED, CONDITION_FUNCTIONS, compilePattern } from './condition-environment.ts';
import { loopOf, nodesOf } from './condition-nodes.ts';

/** A rule of ours that a condition's text breaks; `offset` is where, counted in characters from 0. */
export class ConditionSyntaxFault extends Error {
  readonly offset: number;

  constructor(message: string, node: ASTNode) {
    super(message);
    this.offset = node.start;
  }
}

const AGENT_INPUT: ReadonlySet<string> = new Set(['metadata', 'session']);

/** Whether the text mentions what an agent says about itself; a loop variable of that name counts too. */
export function mentionsAgentInput(root: ASTNode): boolean {
  for (const node of nodesOf(root)) if (node.op === 'id' && AGENT_INPUT.has(node.args)) return true;
  return false;
}

const MACROS_OVER_A_RANGE: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);
/** A failing element costs this much on top, for the error that is made and kept. */
const STEPS_PER_ELEMENT = 200;

/**
 * Checks the text against our rules and changes the tree in place, before it is type-checked: `matches` and
 * `contains` become our bounded ones, the range of a macro is charged for each element times the size of what is done
 * with it. Compiles the patterns into `patterns`. Throws a ConditionSyntaxFault.
 */
export function boundSyntax(
  root: ASTNode,
  patterns: Map<string, RE2JS>,
  parse: (text: string) => { readonly ast: ASTNode },
): void {
  for (const node of nodesOf(root)) {
    // Arguments are JSON and hold none; a loop that doubles them would grow without end.
    if (node.op === 'value' && node.args instanceof Uint8Array)
      throw new ConditionSyntaxFault(
        'There are no bytes in conditions; leave the b before the quotes out.',
        node,
      );
    if (node.op !== 'call' && node.op !== 'rcall') continue;
    const name = node.args[0];
    if (!CONDITION_FUNCTIONS.has(name))
      throw new ConditionSyntaxFault(`There is no function ${name} in conditions.`, node);
    if (node.op === 'call') continue;
    if (name === 'contains') node.args[0] = BOUNDED.contains;
    if (name === 'matches') {
      rememberPattern(node, node.args[2], patterns);
      node.args[0] = BOUNDED.matches;
    }
    if (MACROS_OVER_A_RANGE.has(name)) boundRange(node, node.args[1], node.args[2], parse);
  }
}

function rememberPattern(node: ASTNode, operands: readonly ASTNode[], patterns: Map<string, RE2JS>): void {
  const [pattern] = operands;
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string' || operands.length !== 1)
    throw new ConditionSyntaxFault('The pattern of matches has to be one text in quotes.', node);
  try {
    patterns.set(pattern.args, compilePattern(pattern.args));
  } catch (error) {
    throw new ConditionSyntaxFault(`The pattern of matches is wrong: ${(error as Error).message}.`, pattern);
  }
}

function boundRange(
  node: ASTNode,
  range: ASTNode,
  operands: readonly ASTNode[],
  parse: (text: string) => { readonly ast: ASTNode },
): void {
  const loop = loopOf(node);
  if (loop?.iterable !== range)
    throw new ConditionSyntaxFault('This needs a loop variable and a condition.', node);
  let steps = STEPS_PER_ELEMENT;
  for (const operand of operands) for (const _ of nodesOf(operand)) steps += 1;
  const bounded = parse(`${BOUNDED.range}(tool, ${steps})`).ast;
  if (bounded.op !== 'call') throw new Error('A call was not parsed as one.');
  bounded.args[1][0] = range;
  loop.iterable = bounded;
}
