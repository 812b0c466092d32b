import type { AgentId, ConfirmationId, InvocationId, RunId } from '../ids.ts';
import type { Run } from './run.ts';
import type { ExecutionLog, StoredInvocation } from './run-record.ts';
import type { RunFacts } from './run-store.ts';

/** A call that may run again: where it stands, in which run. */
export interface RerunCall {
  readonly run: RunFacts;
  readonly runStatus: Run['status'];
  readonly invocation: StoredInvocation;
}

export interface RerunRequest {
  readonly id: ConfirmationId;
  readonly run: RunId;
  readonly agent: AgentId;
}

export interface ApprovedRerun {
  readonly id: ConfirmationId;
  readonly agent: AgentId;
  readonly tool: string;
}

/** What is needed to run calls of unknown outcome again, beside whoever works on their runs, or nobody does any more. */
export interface RerunStore {
  /** Requests to run a call again that are approved, unused, and past their cool-off; oldest first. */
  approved(limit: number): Promise<readonly ApprovedRerun[]>;
  /** Claimed requests to run a call again whose success is noted on the call and not on them yet. */
  answered(limit: number): Promise<readonly RerunRequest[]>;
  /** Requests to run a call again that are undecided or unused while their run was cancelled. */
  unwanted(limit: number): Promise<readonly RerunRequest[]>;
  find(invocation: InvocationId): Promise<RerunCall | null>;
  /**
   * Where the second execution of this call is written down. It makes an unknown invocation a succeeded one and
   * changes nothing else of it: neither what the model was told, nor, where the second attempt fails, that nobody knows
   * about the first. Needs no lease: whoever holds the claim is the only one, and the run's own worker has settled the call.
   */
  log(call: RerunCall): ExecutionLog;
}
