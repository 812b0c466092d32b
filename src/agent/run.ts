import type { AgentId, ConfirmationId, InvocationId, PersonId, RunId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { PlanNode } from './plan.ts';

export type RunStatus = 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';

/** One piece of work by one agent, as API and record show it. */
export interface Run {
  readonly id: RunId;
  readonly agent: AgentId;
  readonly executor: 'react' | 'dag';
  readonly status: RunStatus;
  readonly input: string;
  readonly output: string | null;
  /** What went wrong, in words; null unless failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly session: string;
  readonly requester: { readonly id: PersonId; readonly name: string } | null;
  readonly parentRun: RunId | null;
  /** As it was given, or as the model gave it; null where there is none, or none yet. */
  readonly plan: readonly PlanNode[] | null;
  readonly childRuns: readonly RunId[];
  readonly evaluation: boolean;
  /** The API key that started it; null for a child run. */
  readonly apiKeyId: string | null;
  readonly invocations: readonly Invocation[];
  /** How many events its stream has so far; they are numbered from 1. */
  readonly eventCount: number;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

export type InvocationStatus =
  | 'waiting'
  | 'blocked'
  | 'skipped'
  | 'stubbed'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'unknown';

/** One call of one tool; its identity is ours, the provider's `callId` is only an attribute. */
export interface Invocation {
  readonly id: InvocationId;
  readonly callId: string | null;
  readonly node: string | null;
  readonly tool: string;
  readonly args: JsonObject;
  readonly confirmation: ConfirmationId | null;
  readonly status: InvocationStatus;
  /** The real result, as the tool gave it; what the model saw may differ. */
  readonly result: JsonValue;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export const RUN_EVENT_KINDS = [
  'run.started',
  'model.delta',
  'tool.called',
  'run.waiting',
  'confirmation.decided',
  'tool.finished',
  'run.finished',
] as const;

/** One event of a run's stream; `seq` counts from 1 within the run. */
export interface RunEvent {
  readonly seq: number;
  readonly kind: (typeof RUN_EVENT_KINDS)[number];
  readonly at: Date;
  readonly data: JsonObject;
}
