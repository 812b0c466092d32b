import type { AgentId, PersonId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { PlanNode } from './plan.ts';
import type { Run, RunEvent } from './run.ts';

/** Starts, shows and stops runs. Refusals throw a `CountersignError` (`unknown_agent`, `invalid_plan`, …). */
export interface RunService {
  start(input: StartRun): Promise<Run>;
  get(id: RunId): Promise<Run | null>;
  /** Resolves when the run is finished (or, with `untilWaiting`, also when it waits), or after `timeoutMs`. */
  wait(input: {
    readonly id: RunId;
    readonly timeoutMs: number;
    readonly untilWaiting: boolean;
    readonly signal: AbortSignal;
  }): Promise<Run | null>;
  /** The run's events after `afterSeq`; ends after `run.finished`, or when `signal` aborts. */
  events(input: {
    readonly id: RunId;
    readonly afterSeq: number;
    readonly signal: AbortSignal;
  }): AsyncIterable<RunEvent>;
  /** Stops the run and cancels its open requests. Repeating it changes nothing. */
  cancel(id: RunId): Promise<Run | null>;
}

export interface StartRun {
  readonly agent: AgentId;
  readonly input: string;
  readonly session: string | null;
  /** Null: the agent's owner. */
  readonly requester: PersonId | null;
  readonly requesterNamedByAgent: boolean;
  readonly evaluation: boolean;
  readonly plan: readonly PlanNode[] | null;
  readonly apiKeyId: string | null;
}

/** Asks for an outside agent whether a call may run: the same hooks and the same gate as for our own runs. */
export interface CallAuthorizer {
  authorize(input: AuthorizeCall): Promise<AuthorizeAnswer>;
}

export interface AuthorizeCall {
  readonly tool: string;
  /** Already parsed without loss and checked (`parseArguments`). */
  readonly args: JsonObject;
  readonly agent: AgentId;
  readonly session: string | null;
  readonly callId: string | null;
  /** Null: the agent's owner. */
  readonly requester: PersonId | null;
  readonly summary: string | null;
  readonly metadata: JsonObject;
  readonly apiKeyId: string;
  readonly idempotencyKey: string | null;
  readonly bodyDigest: string;
}

export type AuthorizeAnswer =
  | { readonly kind: 'allow'; readonly args: JsonObject; readonly argsDigest: string }
  /** `created` is false where the Idempotency-Key had asked the same before. */
  | { readonly kind: 'pending'; readonly confirmationId: string; readonly created: boolean }
  | {
      readonly kind: 'deny';
      readonly code: string;
      readonly message: string;
      readonly retryAfter: number | null;
      readonly confirmationId: string | null;
    };
