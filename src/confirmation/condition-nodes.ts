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
