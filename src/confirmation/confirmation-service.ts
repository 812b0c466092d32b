import type { SettleAction } from '../channel/inbound-event.ts';
import type { ErrorCode } from '../errors.ts';
import type { AgentId, ConfirmationId, PersonId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Verdict } from '../verdict.ts';
import type {
  ClosedConfirmationRequest,
  ConfirmationRequest,
  ExecutionStatus,
  PersonRef,
  Surface,
} from './confirmation-request.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import type { Explanation } from './explanation.ts';
import type { VoteRefusal } from './rights.ts';

/** The core's door for every surface. What people may meet is a member of an outcome union; faults throw. */
export interface ConfirmationService {
  get(id: ConfirmationId): Promise<ConfirmationRequest | null>;
  /** Those of `ids` that are closed, in one look. */
  getClosed(ids: readonly ConfirmationId[]): Promise<readonly ClosedConfirmationRequest[]>;
  /** The request that this API key made under this Idempotency-Key, and the digest of the body it came with. */
  findByIdempotencyKey(
    apiKeyId: string,
    key: string,
  ): Promise<{ readonly id: ConfirmationId; readonly bodyDigest: string } | null>;
  /** Which rules were tried for this request, and who could approve it; null where there is no such request. */
  explain(id: ConfirmationId): Promise<Explanation | null>;
  deliveriesOf(
    ids: readonly ConfirmationId[],
  ): Promise<ReadonlyMap<ConfirmationId, readonly DeliveryRecord[]>>;
  list(filter: ConfirmationFilter): Promise<ConfirmationPage>;
  /**
   * Resolves with the closed request, or with the request as it is when `timeoutMs` is over or `signal` aborts.
   * `until: 'grant-moved'` waits on past an approval, until its grant is claimed, lapsed or revoked.
   */
  wait(input: {
    readonly id: ConfirmationId;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly until?: WaitUntil;
  }): Promise<ConfirmationRequest | null>;
  /** One person's vote, from whatever surface. The only way anything is decided by people. */
  decide(input: DecideInput): Promise<DecideOutcome>;
  /** How many people's votes this process holds that are not answered yet. */
  votesUnderWay(): number;
  /** One approver takes the approval back while nobody has used it. */
  revoke(input: RevokeInput): Promise<RevokeOutcome>;
  /** Withdraws a pending request; an approved and unclaimed one keeps its status and its grant is revoked. */
  cancel(input: CancelInput): Promise<CancelOutcome>;
  claim(input: ClaimInput): Promise<ClaimOutcome>;
  recordOutcome(input: OutcomeInput): Promise<OutcomeOutcome>;
  /**
   * Closes an execution whose outcome nobody knew, by a person who could have approved it; or asks people whether the
   * same call may run again, and closes it in favour of that.
   */
  settle(input: SettleInput): Promise<SettleOutcome>;
}

export type WaitUntil = 'decided' | 'grant-moved';

export interface DecideInput {
  readonly id: ConfirmationId;
  readonly person: PersonId;
  readonly verdict: Verdict;
  readonly reason: string | null;
  /** The digest of what the person saw; null where the surface shows a card of the request itself. */
  readonly argsDigest: string | null;
  readonly surface: Surface;
}

export type DecideOutcome =
  /** The vote counts; `closed` where it also decided. */
  | { readonly kind: 'recorded'; readonly request: ConfirmationRequest; readonly closed: boolean }
  /** The same vote by the same person again: nothing changed. */
  | { readonly kind: 'repeated'; readonly request: ConfirmationRequest }
  | { readonly kind: 'already-decided'; readonly request: ClosedConfirmationRequest }
  | { readonly kind: 'expired'; readonly request: ClosedConfirmationRequest }
  | { readonly kind: 'reason-required'; readonly request: ConfirmationRequest }
  | {
      readonly kind: 'refused';
      readonly code: VoteRefusal;
      readonly request: ConfirmationRequest;
    }
  | { readonly kind: 'not-found' };

/** Who acts where it is not a vote: a person under their own key, an agent's key, a run, or the service itself. */
export type Actor =
  | { readonly type: 'person'; readonly person: PersonRef }
  | { readonly type: 'key'; readonly id: string; readonly agent: AgentId | null }
  | { readonly type: 'run'; readonly run: RunId; readonly agent: AgentId }
  | { readonly type: 'system' };

export interface CancelInput {
  readonly id: ConfirmationId;
  readonly actor: Actor;
  readonly reason: string | null;
}

export type CancelOutcome =
  | { readonly kind: 'cancelled'; readonly request: ConfirmationRequest }
  | { readonly kind: 'already-decided'; readonly request: ClosedConfirmationRequest }
  | { readonly kind: 'not-found' };

export interface RevokeInput {
  readonly id: ConfirmationId;
  readonly person: PersonId;
  readonly reason: string | null;
  readonly surface: Surface;
}

export type RevokeOutcome =
  | { readonly kind: 'revoked'; readonly request: ConfirmationRequest }
  /** Revoked before, by whomever: nothing changed. */
  | { readonly kind: 'repeated'; readonly request: ConfirmationRequest }
  | {
      readonly kind: 'refused';
      readonly code: 'not_an_approver' | 'inactive_person' | 'not_approved' | 'already_claimed' | 'lapsed';
      readonly request: ConfirmationRequest;
    }
  | { readonly kind: 'not-found' };

export interface ClaimInput {
  readonly id: ConfirmationId;
  readonly actor: Actor;
  /** What is about to run; compared by digest with what was approved. */
  readonly args: JsonObject;
  /**
   * A token that nobody else has, new for each grant. A claim that is repeated under it, because its answer was lost, is
   * answered as it was the first time, while nothing is recorded of the execution.
   */
  readonly claimant?: string;
}

export type ClaimOutcome =
  | {
      readonly kind: 'claimed';
      readonly request: ConfirmationRequest;
      readonly executeBy: Date;
      readonly sendBy: Date;
    }
  | {
      readonly kind: 'refused';
      readonly code: Extract<
        ErrorCode,
        | 'already_claimed'
        | 'args_changed'
        | 'not_approved'
        | 'not_yet_executable'
        | 'lapsed'
        | 'revoked'
        | 'grant_of_a_run'
      >;
      readonly request: ConfirmationRequest;
      readonly detail: string | null;
      /** Of `not_yet_executable`: how long until the cool-off is over, by the database clock; else null. */
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'not-found' };

export interface OutcomeInput {
  readonly id: ConfirmationId;
  readonly actor: Actor;
  readonly status: 'succeeded' | 'failed' | 'unknown';
  readonly detail: string | null;
}

export type OutcomeOutcome =
  | { readonly kind: 'recorded'; readonly request: ConfirmationRequest }
  | {
      readonly kind: 'refused';
      readonly code: 'outcome_recorded' | 'not_claimed' | 'grant_of_a_run';
      readonly request: ConfirmationRequest;
    }
  | { readonly kind: 'not-found' };

export interface SettleInput {
  readonly id: ConfirmationId;
  readonly person: PersonId;
  readonly status: Settlement;
  /** Why they say so; asked for where it is missing, of those whose word counts. */
  readonly detail: string | null;
  readonly surface: Surface;
}

/** What a person may say of an outcome that nobody knows. */
export type Settlement = SettleAction;

export type SettleOutcome =
  /** As the request is then; one that is run again names who asks about that in `supersededBy`. */
  | { readonly kind: 'settled'; readonly request: ConfirmationRequest }
  | { readonly kind: 'detail-required'; readonly request: ConfirmationRequest }
  /** Too few people could be asked whether to run it again: the outcome is as unknown as before. */
  | { readonly kind: 'undeliverable'; readonly request: ConfirmationRequest }
  | {
      readonly kind: 'refused';
      readonly code:
        | 'not_unknown'
        /** It is being run again. */
        | 'superseded'
        | 'not_yet_settleable'
        | 'not_repeatable'
        | 'policy_error'
        | Exclude<VoteRefusal, 'seat_taken' | 'args_changed'>;
      readonly request: ConfirmationRequest;
      /** Of `not_yet_settleable`: how long the old attempt may still send, by the database clock; else null. */
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'not-found' };

export interface ConfirmationFilter {
  readonly status?: ConfirmationRequest['status'] | undefined;
  /** Of `unknown` those alone that can be settled: not where a newer request runs the call again, or did. */
  readonly execution?: ExecutionStatus | undefined;
  readonly tool?: string | undefined;
  readonly agent?: string | undefined;
  /** Requester, approver, voter, or owner of the agent. */
  readonly person?: string | undefined;
  /** Only what concerns this person, in the same sense; beside `person`, so that both must hold. */
  readonly visibleTo?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /** Text in tool, summary, requester, verification code or arguments. */
  readonly q?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Only what this API key asked; undefined: everything. */
  readonly apiKeyId?: string | undefined;
}

export interface ConfirmationPage {
  readonly items: readonly ConfirmationRequest[];
  readonly nextCursor: string | null;
}
