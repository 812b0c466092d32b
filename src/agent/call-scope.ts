import { digestOf } from '../confirmation/digest.ts';
import type { HookContext } from '../hook/hook-context.ts';
import type { HookRegistry } from '../hook/hook-registry.ts';
import type { SideEffect } from '../hook/side-effect.ts';
import type { AgentId, ConfirmationId, InvocationId, PersonId, RunId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { CallPosition, ExecutionLog, InvocationLog, SettledStatus } from './run-record.ts';
import type { RunWaits } from './run-waits.ts';
import type { Tool } from './tool.ts';
import type { ToolReach } from './tool-reach.ts';

/** The run in which calls are made: who, with which tools, under which hooks, and where it is written down. */
export interface CallScope {
  readonly run: RunId;
  readonly parentRun: RunId | null;
  readonly organization: string;
  readonly agent: AgentId;
  readonly person: PersonId | null;
  /** The key that started the run named the person itself. */
  readonly requesterNamedByAgent: boolean;
  readonly session: string;
  readonly evaluation: boolean;
  /** The agent's tools of this moment by full name; what is not in it does not exist for this agent. */
  tools(): ReadonlyMap<string, Tool>;
  readonly reach: ToolReach;
  readonly hooks: HookRegistry;
  readonly log: InvocationLog;
  /** Where a call says that it only waits, so that the run can be parked. */
  readonly waits: RunWaits;
  /** Aborts with a `RunStop`. */
  readonly signal: AbortSignal;
}

/** The same for a call that people have approved: which tool it is is settled, and nothing but its end is written. */
export type ExecutionScope = Omit<CallScope, 'tools' | 'reach' | 'log' | 'waits'> & {
  readonly log: ExecutionLog;
};

export interface ProposedCall {
  readonly id: InvocationId;
  readonly position: CallPosition;
  readonly callId: string | null;
  readonly tool: string;
  /** As the model wrote them, or as a plan gave them. */
  readonly arguments:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'object'; readonly args: JsonObject }
    /** A plan whose references lead nowhere. */
    | { readonly kind: 'refused'; readonly message: string }
    /** A plan of an evaluation that refers to what a stubbed call would have answered; `args` as the plan has them. */
    | { readonly kind: 'unknowable'; readonly args: JsonObject; readonly message: string };
}

/** How a call ended. */
export interface SettledCall {
  readonly id: InvocationId;
  readonly status: SettledStatus;
  /** Why it was blocked or failed; null otherwise. */
  readonly code: string | null;
  /** What the model sees. */
  readonly view: string;
  /** The real result. */
  readonly result: JsonValue;
  readonly confirmation: ConfirmationId | null;
}

/** A call on its way through `invoke-tool`. */
export interface OpenCall {
  readonly id: InvocationId;
  readonly callId: string | null;
  readonly toolName: string;
  /** Null where the agent has no such tool. */
  readonly tool: Tool | null;
  /** What was asked for; once the hooks are through, what they made of it. */
  readonly args: JsonObject;
  readonly confirmation: ConfirmationId | null;
  readonly sideEffects: readonly SideEffect[];
  /** On the monotonic clock. */
  readonly startedAtMs: number;
}

export const digestOfCall = (call: OpenCall, scope: Pick<CallScope, 'organization'>): string =>
  digestOf({
    organization: scope.organization,
    tool: call.toolName,
    toolVersion: call.tool?.version ?? null,
    args: call.args,
  });

/** What a person rejects of a call: not the definition of its tool, which a server may word anew each minute. */
export const digestOfProposal = (call: OpenCall, scope: Pick<CallScope, 'organization'>): string =>
  digestOf({ organization: scope.organization, tool: call.toolName, toolVersion: null, args: call.args });

export function hookContextOf(call: OpenCall, scope: ExecutionScope): HookContext {
  return {
    toolName: call.toolName,
    toolArgs: call.args,
    agentId: scope.agent,
    userId: scope.person,
    sessionId: scope.session,
    runId: scope.run,
    metadata: {
      organization: scope.organization,
      conversation: null,
      connector: call.tool?.connector ?? null,
      toolVersion: call.tool?.version ?? null,
      writes: call.tool?.writes ?? true,
      requiresConfirmation: call.tool?.requiresConfirmation ?? false,
      invocationId: call.id,
      callId: call.callId,
      parentRunId: scope.parentRun,
      evaluation: scope.evaluation,
      requesterNamedByAgent: scope.requesterNamedByAgent,
      ask: null,
    },
  };
}
