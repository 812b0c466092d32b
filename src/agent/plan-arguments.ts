import type { JsonObject, JsonValue } from '../json.ts';
import type { ProposedCall } from './call-scope.ts';
import { type CallNode, givenTo } from './plan.ts';
import { referencedNodes, resolveReferences } from './plan-references.ts';
import type { PlanScope } from './plan-scope.ts';

/** The arguments of a node's call, with what its references name put in their places. */
export function argumentsOf(node: CallNode, { endOf }: PlanScope): ProposedCall['arguments'] {
  const given = givenTo(node);
  const stubbed = referencedNodes(given).find((id) => endOf(id)?.kind === 'stubbed');
  if (stubbed !== undefined) {
    const message = `It needs the result of node "${stubbed}", which an evaluation does not run.`;
    return { kind: 'unknowable', args: callArguments(node, given), message };
  }
  const resolved = resolveReferences(given, (id) => {
    const end = endOf(id);
    return end?.kind === 'succeeded' ? end.result : undefined;
  });
  return resolved.kind === 'resolved'
    ? { kind: 'object', args: callArguments(node, resolved.value) }
    : { kind: 'refused', message: resolved.message };
}

/** `given`: the node's arguments or data, resolved. */
function callArguments(node: CallNode, given: JsonValue): JsonObject {
  if (node.kind === 'tool') return given as JsonObject;
  const { agent, input } = node;
  return { agent, input: node.data === undefined ? input : `${input}\n\n${JSON.stringify(given, null, 2)}` };
}
