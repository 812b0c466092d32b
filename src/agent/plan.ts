import type { JsonObject } from '../json.ts';

export const ON_REJECTED = ['fail', 'skip', 'continue'] as const;
export type OnRejected = (typeof ON_REJECTED)[number];

/** One node of a plan: a tool call or an agent, run when everything it depends on has ended. */
export type PlanNode = {
  readonly id: string;
  readonly dependsOn: readonly string[];
  /** What a blocked end of this node does: fail the run, skip it and its dependents, or go on with the result. */
  readonly onRejected: OnRejected;
} & (
  | { readonly kind: 'tool'; readonly tool: string; readonly args: JsonObject }
  | { readonly kind: 'agent'; readonly agent: string; readonly input: string }
);

/** What the node's call is given; references in it are still references. */
export const argumentsOf = (node: PlanNode): JsonObject =>
  node.kind === 'tool' ? node.args : { agent: node.agent, input: node.input };
