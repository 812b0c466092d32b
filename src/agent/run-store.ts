import type { PersonRef } from '../confirmation/confirmation-request.ts';
import type { HookChain } from '../hook/hook-chain.ts';
import type { AgentId, ConfirmationId, InvocationId, PersonId, RunId } from '../ids.ts';
import type { PlanNode } from './plan.ts';
import type { Run, RunEvent } from './run.ts';
import type { RunRecord } from './run-record.ts';

/** What never changes about a run. */
export interface RunFacts {
  readonly id: RunId;
  readonly organization: string;
  readonly agent: AgentId;
  readonly executor: Run['executor'];
  readonly input: string;
  /** Null for the ReAct executor, and for a DAG whose plan the model has not given yet. */
  readonly plan: readonly PlanNode[] | null;
  readonly session: string;
  readonly requester: PersonRef | null;
  readonly requesterNamedByAgent: boolean;
  readonly evaluation: boolean;
  /** Its hooks, as of whoever worked on it last; null where that was before they were noted. */
  readonly hooks: HookChain | null;
  readonly apiKeyId: string | null;
  readonly parent: { readonly run: RunId; readonly invocation: InvocationId } | null;
  /** How many runs stand above this one. */
  readonly depth: number;
}

/** The right of a process to work on a run while it lives. A later holder has a higher fencing token. */
export interface RunLease {
  readonly run: RunId;
  readonly agent: AgentId;
  readonly fencingToken: number;
}

export type RunCreation =
  | { readonly kind: 'created'; readonly lease: RunLease }
  | { readonly kind: 'exists' }
  /** The caller, or a run above it, is over or is to be stopped: it starts nothing any more. */
  | { readonly kind: 'unwanted' }
  /** The caller's tree holds `MOST_DELEGATES` runs beside its root already. */
  | { readonly kind: 'too-many' };

/** All that a run starts, and that this starts in turn: no more runs than this, however many turns they take. */
export const MOST_DELEGATES = 100;

export interface RunStore {
  /** Stores a run with its first event and its audit event, leased to `owner`; a delegate's run once per invocation. */
  create(facts: RunFacts, owner: string): Promise<RunCreation>;
  find(id: RunId): Promise<Run | null>;
  statusOf(id: RunId): Promise<Run['status'] | null>;
  /** How many events each of these runs has; one query for all that are watched in this process. */
  eventCounts(ids: readonly RunId[]): Promise<ReadonlyMap<RunId, number>>;
  childOf(invocation: InvocationId): Promise<RunId | null>;
  eventsAfter(id: RunId, afterSeq: number, limit: number): Promise<readonly RunEvent[]>;
  /**
   * Asks whoever works on it to stop it, and wakes it where it is parked; and so for all the open runs that it has
   * started, however deep: from then on none of them notes a call as executing. False where it is finished or unknown.
   */
  requestCancel(id: RunId): Promise<boolean>;
  /** Of the runs under `owner`'s lease, those that somebody wants stopped. */
  cancelRequestedOf(owner: string): Promise<readonly RunId[]>;
  /** Prolongs the lease of a process on all its runs. */
  heartbeat(input: { readonly owner: string; readonly leaseMs: number }): Promise<void>;
  /**
   * Takes up to `limit` open runs that no living process works on, but for parked and woken ones: those of processes
   * that ended their lease in order and, with `lapsed`, those of processes that let it lapse. Among them are those that
   * `owner` holds and, not being among `working`, does not know of: the answer to the statement that gave them to it
   * was lost.
   */
  takeOver(input: {
    readonly owner: string;
    readonly limit: number;
    readonly lapsed: boolean;
    readonly working: readonly RunId[];
  }): Promise<readonly RunLease[]>;
  /** Takes up to `limit` runs that were parked and whose wait has ended, the longest woken first. */
  takeWoken(input: { readonly owner: string; readonly limit: number }): Promise<readonly RunLease[]>;
  /** Ends the leases of all other processes: for a database that only one can open. */
  endOtherLeases(owner: string): Promise<void>;
  /** Ends the lease of a process that stops in order. */
  endLease(owner: string): Promise<void>;
  /** `onUnwanted` is called by each write that finds that somebody has asked to stop the run. */
  record(lease: RunLease, onUnwanted?: () => void): RunRecord;
}

/** Whose session: what its start gives may be about the person, so that nobody else's run gets it. */
export interface SessionKey {
  readonly agent: AgentId;
  readonly session: string;
  /** For whom the run works; null: for nobody in particular. */
  readonly person: PersonId | null;
}

/** What the hooks of `SessionStart` gave a session; asked for once. */
export interface SessionStore {
  /** `asked`: the caller is the one who has to run the hooks, and then to `keep` what they gave. */
  open(
    input: SessionKey & { readonly run: RunId; readonly askWithinMs: number },
  ): Promise<
    | { readonly kind: 'known'; readonly context: readonly string[] }
    | { readonly kind: 'asked' }
    | { readonly kind: 'being-asked' }
  >;
  /** The hooks could not be asked: the next run of the session asks them. */
  abandon(input: SessionKey & { readonly run: RunId }): Promise<void>;
  keep(input: SessionKey & { readonly run: RunId; readonly context: readonly string[] }): Promise<void>;
}

/** What another process changed. May be lost; the rows are the truth and a poll is the safety net. */
export interface RunSignals {
  onRun(listener: (id: RunId) => void): () => void;
  /** Somebody wants this run stopped. */
  onCancel(listener: (id: RunId) => void): () => void;
  onConfirmation(listener: (id: ConfirmationId) => void): () => void;
  onReconnect(listener: () => void): () => void;
}
