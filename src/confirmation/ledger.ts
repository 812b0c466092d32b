import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { ReminderKind } from '../channel/reminder-outbox.ts';
import type { AgentId, ConfirmationId, PersonId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Verdict } from '../verdict.ts';
import type { CardPlace } from './card-places.ts';
import type {
  ClosedConfirmationRequest,
  ConfirmationRequest,
  Decision,
  PersonRef,
  RequestFacts,
  Rerun,
  Revocation,
} from './confirmation-request.ts';
import type { ConfirmationFilter, ConfirmationPage } from './confirmation-service.ts';
import type { FrozenExplanation } from './frozen-explanation.ts';
import type { GateControls, SwitchedCall } from './gate-controls.ts';
import type { SeenCard } from './seen-card.ts';

/** Where requests, votes and grants are kept. Times come from the database clock, never from this process. */
export interface ConfirmationLedger {
  find(id: ConfirmationId): Promise<ConfirmationRequest | null>;
  /** Those of `ids` that are closed; one query, however many. One that cannot be read spoils none of the others. */
  findClosed(ids: readonly ConfirmationId[]): Promise<FoundClosed>;
  findByIdempotencyKey(
    apiKeyId: string,
    key: string,
  ): Promise<{ readonly id: ConfirmationId; readonly bodyDigest: string } | null>;
  /** How the rule of a request was found; null where there is no such request, or it is from before this was kept. */
  explanationOf(id: ConfirmationId): Promise<FrozenExplanation | null>;
  /** Without those that cannot be read, each of which is reported once a process. */
  list(filter: ConfirmationFilter): Promise<ConfirmationPage>;
  /**
   * Whether a person rejected a call of this tool with exactly these arguments, as they were asked about it, earlier in
   * the same run.
   */
  wasRejected(call: {
    readonly run: RunId;
    readonly tool: string;
    readonly args: JsonObject;
  }): Promise<boolean>;
  /** What the switches look at in a request's call; null where there is no such request. */
  switchedCallOf(id: ConfirmationId): Promise<SwitchedCall | null>;
  /** How the switches stand at this moment, without holding them. Throws where that cannot be known. */
  controls(): Promise<GateControls>;
  /** Ids that time has overtaken, at most `limit` of each. */
  due(limit: number): Promise<DueConfirmations>;
  /**
   * Runs `work` in one transaction and commits it; a throw rolls back. Whoever waits for a changed request is
   * notified after the commit; a notification that fails changes nothing (the poll finds the row). A statement that
   * waits longer than `lockWaitMs` for what somebody else holds fails; by default after 2 s.
   */
  transact<T>(
    work: (transaction: LedgerTransaction) => Promise<T>,
    options?: { readonly lockWaitMs?: number },
  ): Promise<T>;
}

export interface FoundClosed {
  readonly closed: readonly ClosedConfirmationRequest[];
  /** What stands in these rows is unknown to this code; nothing may be concluded from them. */
  readonly unreadable: readonly (Error & { readonly id: ConfirmationId })[];
}

export interface DueConfirmations {
  /** Pending past `decideBy`. */
  readonly toExpire: readonly ConfirmationId[];
  /** Approved, unclaimed past `executeBy`. */
  readonly toLapse: readonly ConfirmationId[];
  /** Claimed, without an outcome for longer than it may take. */
  readonly toUnknown: readonly ConfirmationId[];
  /** Unclaimed, and the cool-off that their cards still show is over. */
  readonly toOpen: readonly ConfirmationId[];
  /** Of unknown outcome, and the time from which people may settle it has come since cards were drawn. */
  readonly toSettle: readonly ConfirmationId[];
  /** Pending, with a delegate, a reminder or an escalation due. */
  readonly toAttend: readonly ConfirmationId[];
}

export interface LedgerTransaction {
  /** Locks the switches against a change, shared. Always before `lock`: one order, no deadlock. */
  lockControls(): Promise<GateControls>;
  /**
   * Locks the request and only then reads the clock: a decision whose lock came at or after the deadline is late,
   * however early it was asked for.
   */
  lock(id: ConfirmationId): Promise<LockedRequest | null>;
  /**
   * The same for those of `ids` that nobody else holds at this moment; waits for none of them. What a change touches
   * besides (its cards, a parked run) may be held all the same: who holds many has to give up soon (`lockWaitMs`).
   */
  lockFree(ids: readonly ConfirmationId[]): Promise<readonly LockedRequest[]>;
  /**
   * The open requests of an outside agent's call, those whose arguments were changed among them, locked like by
   * `lock`. Whoever else asks about the same call waits until this transaction ends. Before any other request is locked.
   */
  lockSameCall(call: SameCall): Promise<readonly LockedRequest[]>;
  /** Stores a pending request with its deliveries; null where its id, or its Idempotency-Key, has one already. */
  insert(request: NewConfirmation): Promise<ConfirmationRequest | null>;
  /**
   * Casts votes, each on another request, and closes a request whose vote comes with a `decision`. Gives back those
   * that were cast, as they are then; the others, not pending or not in time any more, are as they were.
   */
  castVotes(votes: readonly CastVote[]): Promise<readonly ConfirmationRequest[]>;
  /**
   * Writes down which steps of a pending request were taken, and when the next one is due. Null, and nothing changed,
   * unless pending and in time.
   */
  takeSteps(id: ConfirmationId, steps: TakenSteps): Promise<ConfirmationRequest | null>;
  /** Queues a note under each card of the request that stands in a chat. */
  queueReminders(id: ConfirmationId, kind: ReminderKind): Promise<void>;
  /**
   * Closes a pending request and gives it back closed. Null, and nothing changed, where it is not pending, or the
   * clock no longer allows it: `expired` only at or after the deadline, everything else only before.
   */
  close(id: ConfirmationId, decision: NewDecision): Promise<ClosedConfirmationRequest | null>;
  /** Uses the grant up. Null, and nothing changed, unless approved, unclaimed, inside its window and of this digest. */
  claim(id: ConfirmationId, argsDigest: string): Promise<ClaimedGrant | null>;
  /** Whose claim used the grant up, by the event that was recorded with it; null where that names nobody. */
  claimantOf(id: ConfirmationId): Promise<string | null>;
  /** Notes that the cool-off is over. Null, and nothing changed, unless the grant is unclaimed and its time has come. */
  endCoolOff(id: ConfirmationId): Promise<ConfirmationRequest | null>;
  /**
   * Moves the execution on; null, and nothing changed, unless it is in `from` now. A note under each card that stands in
   * a chat says how it ended, or that people may settle it. One of unknown outcome that is being run again stays as it is. A request that runs another again and ends unused, or fails, gives the outcome back to
   * that one, in the same transaction and with an event; `close` does the same.
   */
  moveExecution(id: ConfirmationId, move: ExecutionMove): Promise<ConfirmationRequest | null>;
  /** Queues further cards of a request that this transaction holds; a place that has one already keeps it. */
  queueCards(id: ConfirmationId, places: readonly CardPlace[]): Promise<void>;
  /**
   * Writes down that the fallback channels are asked. False, and nothing changed, unless pending, in time, and not
   * done before.
   */
  reroute(id: ConfirmationId): Promise<boolean>;
  /** Whether a card of the request stands, or may stand, in any chat; none can be sent before this ends. */
  reached(id: ConfirmationId): Promise<Reached>;
  /** Writes down that people may settle it now, with a note under each card. Null, and nothing changed, unless unknown and its time has come. */
  openSettlement(id: ConfirmationId): Promise<ConfirmationRequest | null>;
  /** Hands an unknown outcome to the request that runs its call again. Null, and nothing changed, where it is handed on already. */
  rerun(id: ConfirmationId, rerun: Rerun): Promise<ConfirmationRequest | null>;
  /** As the ledger's own, inside the transaction. */
  explanationOf(id: ConfirmationId): Promise<FrozenExplanation | null>;
  /** Puts an event on the record: all of a transaction are written together, right before it commits. */
  record(event: NewAuditEvent): void;
}

/**
 * `perhaps`: a card was sent whose arrival nobody knows of. `not-yet`: none was, and one still will be. `refused`: none
 * was and none will be. `lost`: one stood in a chat, was deleted or closed to move, and the new one was refused.
 */
export type Reached = 'somebody' | 'perhaps' | 'not-yet' | 'refused' | 'lost';

export interface ClaimedGrant {
  readonly request: ConfirmationRequest;
  readonly executeBy: Date;
  readonly sendBy: Date;
}

export interface LockedRequest {
  readonly request: ConfirmationRequest;
  readonly late: boolean;
  /** The database clock, read after the lock was granted. */
  readonly now: Date;
  /** Of an approved request: before `executableFrom`, or at or after `executeBy`. */
  readonly window: 'before' | 'open' | 'over' | 'none';
  /** Of an unknown outcome: how long until a person may settle it, by the database clock; else 0. */
  readonly settleInMs: number;
  /** How long until `executableFrom`, by the database clock; 0 once it has come, or where there is no grant. */
  readonly opensInMs: number;
  readonly toolWrites: boolean;
  readonly connector: string | null;
}

/** A request before the database gives it its times, and finds the rejection that it follows. */
export type NewConfirmation = Omit<RequestFacts, 'createdAt' | 'decideBy' | 'follows'> & {
  readonly toolTimeoutMs: number | null;
  readonly toolWrites: boolean;
  readonly connector: string | null;
  readonly metadata: JsonObject;
  readonly idempotencyKey: string | null;
  readonly bodyDigest: string | null;
  readonly explanation: FrozenExplanation;
  readonly places: readonly CardPlace[];
};

/** What makes two questions of an outside agent the same call: see `docs/decisions/0014`. */
export interface SameCall {
  readonly apiKeyId: string;
  readonly agent: AgentId;
  readonly session: string;
  readonly callId: string;
  readonly tool: string;
}

export interface NewVote {
  readonly confirmationId: ConfirmationId;
  readonly person: PersonRef;
  readonly seat: PersonRef;
  readonly verdict: Verdict;
  readonly reason: string | null;
  readonly channel: string;
  readonly argsDigest: string;
  readonly seen: SeenCard | null;
}

/** A vote, and the decision that it leads to; null: the request stays open. */
export interface CastVote {
  readonly vote: NewVote;
  readonly decision: NewDecision | null;
}

export interface TakenSteps {
  /** Holders whose delegates take their seats from now on. */
  readonly delegatedSeats: readonly PersonId[];
  readonly escalate: boolean;
  readonly remind: boolean;
  readonly next: Date | null;
}

export type NewDecision = Pick<Decision, 'status' | 'by' | 'reason' | 'code'> & {
  /** Where it is closed in favour of another request. */
  readonly supersededBy?: ConfirmationId | null;
};

export type ExecutionMove = {
  readonly from: 'unclaimed' | 'claimed' | 'unknown';
  readonly detail: string | null;
} & (
  | {
      readonly to: 'succeeded' | 'failed' | 'unknown';
      readonly source: 'executor' | 'agent' | 'timeout';
    }
  | { readonly to: 'succeeded' | 'failed'; readonly source: 'settlement'; readonly by: PersonRef }
  | { readonly to: 'lapsed'; readonly source: null }
  | ({
      readonly to: 'revoked';
      readonly source: null;
      /** The request in whose favour it is revoked. */
      readonly supersededBy?: ConfirmationId | null;
    } & Revocation)
);
