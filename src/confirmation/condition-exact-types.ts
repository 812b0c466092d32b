import type { ASTNode } from '@marcbachmann/cel-js';
import { ExactDecimal } from './condition-decimal.ts';
import type { ConditionFailure } from './condition-failure.ts';
import { Money } from './condition-money.ts';
import { nodesOf } from './condition-nodes.ts';
import { ConditionSyntaxFault } from './condition-syntax.ts';

const EXACT_TYPES: ReadonlySet<string> = new Set(['decimal', 'money']);
const READABLE: readonly ReadonlySet<string>[] = [
  new Set(['dyn', 'string', 'int', 'double', 'decimal']),
  new Set(['dyn', 'string']),
];

/**
 * What the type check lets through, because it cannot see into `decimal` and `money` and because values of unlike
 * types are merely unequal in CEL. `decimal(args.amount) == args.limit` would be false for ever and gate nothing;
 * `decimal("50,000")` would fail with each call. Asked after the type check; null where nothing is wrong.
 */
export function exactTypeFault(root: ASTNode): ConditionSyntaxFault | null {
  for (const node of nodesOf(root)) {
    if (node.op === '==' || node.op === '!=') {
      const [left, right] = node.args.map(typeNameOf);
      const exact = [left, right].find((type) => EXACT_TYPES.has(type ?? ''));
      if (exact !== undefined && left !== right)
        return new ConditionSyntaxFault(`Equality of a ${exact} needs ${exact}(…) on both sides.`, node);
    }
    if (node.op !== 'call' || !EXACT_TYPES.has(node.args[0])) continue;
    const [name, operands] = node.args;
    for (const [parameter, operand] of operands.entries()) {
      const type = typeNameOf(operand);
      if (type !== undefined && !READABLE[parameter]?.has(type))
        return new ConditionSyntaxFault(`${name} cannot be made from a ${type}.`, operand);
    }
    const literals = operands.map((operand) => (operand.op === 'value' ? operand.args : undefined));
    if (literals.includes(undefined)) continue;
    try {
      if (name === 'money') Money.from(literals[0], literals[1]);
      else ExactDecimal.from(literals[0], 0);
    } catch (failure) {
      return new ConditionSyntaxFault(`${name} here ${(failure as ConditionFailure).reason}.`, node);
    }
  }
  return null;
}

/** The type checker leaves what it found on each node. */
const typeNameOf = (node: ASTNode): string | undefined =>
  (node as { readonly checkedType?: { readonly name: string } }).checkedType?.name;
