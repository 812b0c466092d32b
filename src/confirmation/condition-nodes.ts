import type { ASTNode } from '@marcbachmann/cel-js';

/** All nodes under `root` and itself, each operand as it stands in the text (macros not expanded). */
export function* nodesOf(root: ASTNode): Generator<ASTNode> {
  yield root;
  for (const operand of operandsOf(root)) yield* nodesOf(operand);
}

/** The operands of one node. */
export function operandsOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case '!_':
    case '-_':
      return [node.args];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    default:
      return node.args;
  }
}

/** What the library keeps about a macro: the loop it was expanded to. Not in its type declarations. */
export interface MacroLoop {
  iterable?: ASTNode;
}

/** The loop of a macro over a list or a map; undefined for every other node. */
export const loopOf = (node: ASTNode): MacroLoop | undefined =>
  (node as { readonly meta?: { readonly alternate?: { readonly args?: MacroLoop } } }).meta?.alternate?.args;
