import type { AgentId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';

export const ON_REJECTED = ['fail', 'skip', 'continue'] as const;
export type OnRejected = (typeof ON_REJECTED)[number];

/** What makes a loop go round again: a person rejected one of its calls, or a tool failed. */
export const REPEATED_ON = ['rejected', 'failed'] as const;
export type RepeatedOn = (typeof REPEATED_ON)[number];

interface NodeEdges {
  readonly id: string;
  /** Nodes of the same plan, or of the same loop. */
  readonly dependsOn: readonly string[];
  /**
   * What a blocked end of this node does: fail the run, skip it and its dependents, or go on with the result. Of a loop:
   * what a blocked end of one of its rounds does, the last one of a loop that repeats.
   */
  readonly onRejected: OnRejected;
}

/** A node that is one call: of a tool, or of an agent. */
export type CallNode = NodeEdges &
  (
    | { readonly kind: 'tool'; readonly tool: string; readonly args: JsonObject }
    /** `data` may hold references; the agent reads it as JSON below its input. */
    | { readonly kind: 'agent'; readonly agent: AgentId; readonly input: string; readonly data?: JsonObject }
  );

/** A node that runs nodes of its own: once for each element of a list, side by side, or again while one is refused. */
export type LoopNode = NodeEdges & { readonly nodes: readonly PlanNode[] } & (
    | {
        readonly kind: 'for-each';
        /** A list, or a reference to one. */
        readonly list: JsonValue;
      }
    | { readonly kind: 'repeat'; readonly atMost: number; readonly on: readonly RepeatedOn[] }
  );

/** One node of a plan, run when everything it depends on has ended. */
export type PlanNode = CallNode | LoopNode;

export const isLoop = (node: PlanNode): node is LoopNode =>
  node.kind === 'for-each' || node.kind === 'repeat';

/** What a node is given, where references may stand. */
export function givenTo(node: PlanNode): JsonValue {
  switch (node.kind) {
    case 'tool':
      return node.args;
    case 'agent':
      return node.data ?? {};
    case 'for-each':
      return node.list;
    case 'repeat':
      return {};
  }
}

/** A node with all that stand inside it, however deep. */
export const withInner = (node: PlanNode): readonly PlanNode[] =>
  isLoop(node) ? [node, ...node.nodes.flatMap(withInner)] : [node];
