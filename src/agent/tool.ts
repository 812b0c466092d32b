import type { DecisiveField } from '../confirmation/confirmation-request.ts';
import type { ErrorCode } from '../errors.ts';
import type { InvocationId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** Something an agent may call. Only `invoke-tool` calls `execute`. */
export interface Tool {
  /** Full name, as models, policies and cards know it: `<connector>__<tool>`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, as the model gets it. */
  readonly parameters: JsonObject;
  /** `sha256:` + hex over the canonical definition; a changed tool has another one. */
  readonly version: string;
  /** The connector that owns it; null for what the engine itself offers (`call_agent`). */
  readonly connector: string | null;
  /** Whether it changes anything outside; what read-only blocks. */
  readonly writes: boolean;
  /** Whether running it again under the same invocation id is harmless. */
  readonly idempotent: boolean;
  /** Whether `execute` under an id that already runs joins that execution, so that a restart may call it again. */
  readonly joinsRunning: boolean;
  readonly requiresConfirmation: boolean;
  /** How long one execution may take, in milliseconds; null where it waits for people (a delegate's run). */
  readonly timeoutMs: number | null;
  readonly decisiveFields: readonly DecisiveField[];
  /** Checks arguments against `parameters`; the message names the argument at fault. */
  validate(args: JsonObject): ArgumentsCheck;
  /**
   * Does it. `signal` aborts when the time is over; what was sent by then has an unknown outcome. A throw counts as
   * an unknown outcome: whoever knows that nothing was sent answers `failed`.
   */
  execute(call: ToolExecution): Promise<ToolOutcome>;
}

export interface ToolExecution {
  readonly args: JsonObject;
  /** Also the `Idempotency-Key`: the same on any repetition of this call. */
  readonly invocationId: InvocationId;
  readonly signal: AbortSignal;
  /**
   * Aborts with a `RunStop` when the run, or its plan, no longer wants the call. What was sent cannot be called back,
   * so only a tool that waits for people (a delegate's run) heeds it.
   */
  readonly unwanted: AbortSignal;
}

export type ToolOutcome =
  | { readonly kind: 'succeeded'; readonly result: JsonValue }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      /** What the tool answered; null where it answered nothing. */
      readonly result: JsonValue;
    }
  /** It may have run and nobody knows: never repeated by itself. */
  | { readonly kind: 'unknown'; readonly message: string };

export type ArgumentsCheck =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly message: string };
