import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { HookChain } from '../hook/hook-chain.ts';
import type { SideEffect } from '../hook/side-effect.ts';
import type { ConfirmationId, InvocationId, RunId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ChatMessage } from './chat-message.ts';
import type { PlanNode } from './plan.ts';
import type { InvocationStatus, Run } from './run.ts';
import type { RunFailure } from './run-failure.ts';
import type { RunFacts } from './run-store.ts';
import type { RunWait } from './run-waits.ts';
import type { SpokenPiece } from './spoken-answer.ts';

/**
 * What one worker writes about the run that it holds. Every write is fenced: it throws `LeaseLost` when another
 * worker has taken the run over, and nothing is written then.
 */
export interface RunRecord extends InvocationLog {
  readonly run: RunId;
  /** The run as it stands; where the work goes on. */
  load(): Promise<RunProgress>;
  /** Tells `spoken` to whoever watches, or neither is written. Once the run is loaded, it may be repeated. */
  appendMessages(messages: readonly ChatMessage[], spoken: SpokenPiece | null): Promise<void>;
  /** Tells whoever watches what the model has said so far of an answer that is not there yet. */
  tell(piece: SpokenPiece): Promise<void>;
  /** From here on the run works under these hooks: calls that nobody has judged yet are judged under them. */
  takenUpUnder(hooks: HookChain): Promise<void>;
  /** The plan that the model gave; the run is worked through by it from here on. */
  planned(plan: readonly PlanNode[]): Promise<void>;
  /** How long the run has taken so far, without what it waited for people, in milliseconds. */
  workedMs(): Promise<number>;
  /** A node of a plan that will not run. */
  skip(invocation: SkippedInvocation): Promise<void>;
  /** A node that was blocked, under a plan that goes on without it. */
  markSkipped(id: InvocationId): Promise<void>;
  /** A node of unknown outcome holds its dependents: the run reads `waiting`, and whoever watches is told for what. */
  hold(by: {
    readonly invocation: InvocationId;
    readonly confirmation: ConfirmationId | null;
  }): Promise<void>;
  /** None does any more. */
  letGo(): Promise<void>;
  /** What a person said became of an invocation of unknown outcome. */
  settleUnknown(input: {
    readonly id: InvocationId;
    readonly status: 'succeeded' | 'failed';
    readonly error: InvocationError | null;
  }): Promise<void>;
  /** Ends the run, with its audit event. Gives the run that waits for this end, if there is one. */
  finish(end: RunEnd): Promise<RunId | null>;
  /** How many faults workers met on this run so far. */
  faults(): Promise<number>;
  /**
   * Lets go of a run that only waits for these, until the first of them ends. It has overcome the faults it met so far: a
   * run of many weeks is not given up for the few of all of them together. False where one has ended already, or
   * the run is to be stopped: it stays this worker's.
   */
  park(waits: readonly RunWait[]): Promise<boolean>;
  /** Gives the run up as it is, for the next worker; counts a fault where it was one. */
  release(input: { readonly fault: boolean }): Promise<void>;
}

/** What `invoke-tool` records about a call, step by step. A throw before `executing` means: it does not run. */
export interface InvocationLog {
  /** Notes the call. Says, as `wasRejected` does, whether a person rejected exactly this one earlier in the same run. */
  proposed(call: ProposedInvocation): Promise<{ readonly rejectedBefore: boolean }>;
  /** Whether a person rejected exactly this call earlier in the same run. */
  wasRejected(proposedDigest: string): Promise<boolean>;
  /** A person is asked; invocation and run read `waiting`. */
  waiting(input: {
    readonly id: InvocationId;
    readonly confirmation: ConfirmationId;
    readonly args: JsonObject;
    readonly sideEffects: readonly SideEffect[];
  }): Promise<void>;
  /** What people decided; noted once, whoever takes the call up again. */
  decided(input: {
    readonly id: InvocationId;
    readonly confirmation: ConfirmationId;
    readonly status: string;
    readonly reason: string | null;
    /** Approved, and to be waited for on: the cool-off has to pass first. */
    readonly coolingOff: boolean;
  }): Promise<void>;
  /**
   * Written before anything may be sent: from here on, a crash leaves an unknown outcome. Not written, and `wanted` is
   * false, where somebody has asked to stop the run by then: of that and this, the run's row says which came first.
   */
  executing(input: {
    readonly id: InvocationId;
    readonly args: JsonObject;
    readonly sideEffects: readonly SideEffect[];
  }): Promise<{ readonly wanted: boolean }>;
  /** The delegate's run that this invocation waits for is itself waiting, or no longer. */
  delegateWaiting(input: {
    readonly id: InvocationId;
    readonly run: RunId;
    readonly waiting: boolean;
  }): Promise<void>;
  /** The real outcome, before any hook looks at it. */
  executed(input: {
    readonly id: InvocationId;
    readonly status: 'succeeded' | 'failed' | 'unknown';
    readonly result: JsonValue;
    readonly error: InvocationError | null;
  }): Promise<void>;
  /** The call is over. `view` is what the model sees. */
  settled(input: {
    readonly id: InvocationId;
    readonly status: SettledStatus;
    readonly error: InvocationError | null;
    /** The request behind it, also where it was closed before anybody could be waited for. */
    readonly confirmation: ConfirmationId | null;
    /** The real outcome of a call that was not written as `executed` before, since nothing lies between. */
    readonly result?: JsonValue;
    readonly view: string;
    readonly sideEffects: readonly SideEffect[];
    /** Goes on the audit log with it, or neither is written. */
    readonly event: NewAuditEvent;
  }): Promise<void>;
  /** The database's time. Throws `LeaseLost`, as a write does, where another worker has the run. */
  heldAt(): Promise<Date>;
  /** The request that the gate stored for this invocation, where a crash kept us from noting it. */
  confirmationOf(id: InvocationId): Promise<ConfirmationId | null>;
}

/** What the execution itself records, from the moment it may be sent. */
export type ExecutionLog = Pick<InvocationLog, 'executing' | 'executed' | 'settled'>;

export type InvocationPhase = 'proposed' | 'waiting' | 'executing' | 'executed' | 'settled';
export type SettledStatus = Extract<
  InvocationStatus,
  'blocked' | 'stubbed' | 'succeeded' | 'failed' | 'unknown'
>;

export interface InvocationError {
  readonly code: string;
  readonly message: string;
}

/** Where a call stands in its run: a place in a turn of the model, or a node of the plan. */
export type CallPosition =
  | { readonly kind: 'turn'; readonly turn: number; readonly place: number }
  | { readonly kind: 'node'; readonly node: string };

export interface ProposedInvocation {
  readonly id: InvocationId;
  readonly position: CallPosition;
  readonly callId: string | null;
  readonly tool: string;
  /** Empty where the model's text was no acceptable JSON object. */
  readonly args: JsonObject;
  readonly proposedDigest: string | null;
}

export type SkippedInvocation = Pick<ProposedInvocation, 'id' | 'position' | 'tool'>;

/** An invocation as its row holds it; enough to take it up after a crash. */
export interface StoredInvocation {
  readonly id: InvocationId;
  readonly position: CallPosition;
  readonly callId: string | null;
  readonly tool: string;
  readonly phase: InvocationPhase;
  readonly status: InvocationStatus;
  readonly args: JsonObject;
  readonly confirmation: ConfirmationId | null;
  readonly result: JsonValue;
  readonly view: string | null;
  readonly error: InvocationError | null;
  readonly sideEffects: readonly SideEffect[];
  readonly executingAt: Date | null;
}

export interface RunProgress {
  readonly facts: RunFacts;
  readonly messages: readonly ChatMessage[];
  readonly invocations: readonly StoredInvocation[];
  readonly cancelRequested: boolean;
  /** The latest turn of the model of which anything was told, be its answer on record or not; null where nothing was. */
  readonly spokenTurn: number | null;
  /** Whether a node holds others. */
  readonly holding: boolean;
}

export interface RunEnd {
  readonly status: Extract<Run['status'], 'succeeded' | 'failed' | 'cancelled'>;
  readonly output: string | null;
  readonly error: RunFailure | null;
}

/** Another worker holds the run now; this one stops without another word. */
export class LeaseLost extends Error {
  constructor(run: RunId) {
    super(`run ${run}: another worker has taken it over`);
    this.name = 'LeaseLost';
  }
}
