import type { AgentId, InvocationId, PersonId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';

/**
 * What a hook is told about the call it looks at. Read-only: a hook changes the call only through its result, and
 * gets a frozen copy of the arguments.
 */
export interface HookContext {
  /** Full name of the tool, `<connector>__<tool>` or an external tool's own name. */
  readonly toolName: string;
  /**
   * The arguments as the hooks before this one left them, whole until the call is decided. At `PostToolUse` and
   * `ToolSettled` what is secret by its name, its shape or the operator's list is masked, as it is on cards.
   */
  readonly toolArgs: JsonObject;
  readonly agentId: AgentId;
  /** The person the agent acts for; null where the call names nobody and the agent has no owner. */
  readonly userId: PersonId | null;
  readonly sessionId: string | null;
  /** The run that calls; null for an outside agent that asks over HTTP. */
  readonly runId: RunId | null;
  readonly metadata: HookMetadata;
}

/** Facts that the engine fills in; hooks may rely on each of them. */
export interface HookMetadata {
  readonly organization: string;
  /** The conversation the call belongs to, where the caller named one. */
  readonly conversation: string | null;
  /** The connector that owns the tool; null for an external tool. */
  readonly connector: string | null;
  /** SHA-256 of the tool's definition; null for an external tool. */
  readonly toolVersion: string | null;
  /** Whether the tool changes anything; true where nobody said otherwise. */
  readonly writes: boolean;
  /** Whether the tool is flagged: gated even where no policy matches. */
  readonly requiresConfirmation: boolean;
  readonly invocationId: InvocationId | null;
  /** The id that the model's provider gave the call; not unique. */
  readonly callId: string | null;
  readonly parentRunId: RunId | null;
  /** True in an evaluation run, where a gated tool is never asked about and never runs. */
  readonly evaluation: boolean;
  /** Whether the caller of a run itself said for whom it acts, which nobody verified; an outside agent's is in `ask`. */
  readonly requesterNamedByAgent?: boolean;
  /** Everything else about an outside agent's request that only the confirmation gate needs. */
  readonly ask: AskMetadata | null;
}

/** What an outside agent sent along with its question. It comes from the agent: a policy may only tighten by it. */
export interface AskMetadata {
  readonly apiKeyId: string;
  readonly idempotencyKey: string | null;
  /** SHA-256 over the canonical request body; tells a repeated request from a conflicting one. */
  readonly bodyDigest: string;
  readonly requesterNamedByAgent: boolean;
  readonly summary: string | null;
  readonly metadata: JsonObject;
}

/** What a `SessionStart` hook is told. */
export interface SessionStartContext {
  readonly agentId: AgentId;
  readonly userId: PersonId | null;
  readonly sessionId: string;
  readonly runId: RunId;
  readonly metadata: { readonly organization: string; readonly evaluation: boolean };
}

/** What a `PostToolUse` hook is told, beside the call: the result as the hooks before it left it. */
export interface PostToolUseContext extends HookContext {
  /** What the model will see; starts as the real result. */
  readonly toolResult: string;
}

/** How a call ended. `status` uses the words of an invocation. */
export interface ToolSettledContext extends HookContext {
  readonly settlement: {
    readonly status: 'blocked' | 'stubbed' | 'succeeded' | 'failed' | 'unknown';
    /** Error or block code; null when it succeeded. */
    readonly code: string | null;
    readonly durationMs: number;
    readonly argsDigest: string | null;
    readonly confirmationId: string | null;
  };
}
