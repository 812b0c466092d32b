import type { BlockCode } from '../errors.ts';
import type { AgentId, ChannelId, ConfirmationId, InvocationId, PersonId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { FollowedRejection } from './followed-rejection.ts';
import type { FrozenApprover } from './frozen-approver.ts';
import type { FrozenPolicy } from './frozen-policy.ts';
import type { SeenCard } from './seen-card.ts';
import type { Vote } from './vote.ts';

/** A person as others see them; frozen with the name they had then. */
export interface PersonRef {
  readonly id: PersonId;
  readonly name: string;
}

/** What never changes once the request exists. */
export interface RequestFacts {
  readonly id: ConfirmationId;
  readonly organization: string;
  readonly tool: string;
  readonly toolVersion: string | null;
  readonly args: JsonObject;
  /** `sha256:` + hex over the RFC 8785 form of args, organization, tool and toolVersion. */
  readonly argsDigest: string;
  /** Eight characters of Crockford base32; an aid to the eye on which no check relies. */
  readonly verificationCode: string;
  /** JSON Pointers into `args` of what decides, in the order the card shows them. */
  readonly decisiveFields: readonly DecisiveField[];
  readonly summary: string | null;
  readonly agent: AgentId;
  readonly session: string | null;
  readonly callId: string | null;
  readonly requester: PersonRef;
  /** True where the agent itself said for whom it acts: the card says so. */
  readonly requesterNamedByAgent: boolean;
  /** The person answerable for the agent, where it has one; may not approve unless the policy says so. */
  readonly agentOwner: PersonId | null;
  readonly runId: RunId | null;
  readonly parentRunId: RunId | null;
  /** Of one of our runs, also the `Idempotency-Key` with which its tool is called. */
  readonly invocationId: InvocationId | null;
  /** The tool was declared safe to run again under the same `Idempotency-Key`. */
  readonly toolIdempotent: boolean;
  /** The request whose place this one takes: of a run, one of unknown outcome, whose call it runs again. */
  readonly supersedes: ConfirmationId | null;
  /** The rejection after which it was made; null: none was known when it was. */
  readonly follows: FollowedRejection | null;
  /** The API key that asked; null for a call of one of our own runs. */
  readonly apiKeyId: string | null;
  readonly policy: FrozenPolicy;
  /** The seats of the policy; those of its escalation are in `policy`. */
  readonly approvers: readonly FrozenApprover[];
  readonly createdAt: Date;
  readonly decideBy: Date;
}

export interface DecisiveField {
  readonly role: 'amount' | 'currency' | 'payee' | 'other';
  /** JSON Pointer (RFC 6901) into the arguments. */
  readonly pointer: string;
}

export type ClosedStatus = 'approved' | 'rejected' | 'expired' | 'cancelled' | 'undeliverable';

/** What closed the request, and who: a person where people decided, null where time or the channels did. */
export interface Decision {
  readonly status: ClosedStatus;
  readonly by: PersonRef | null;
  readonly at: Date;
  readonly reason: string | null;
  /** The code an agent is told; the status itself unless something more precise is known (`superseded`). */
  readonly code: BlockCode | 'approved';
}

/** The single-use right to execute, and what became of it. Exists only behind an approval. */
export type Execution =
  | {
      readonly status: 'unclaimed';
      readonly executableFrom: Date;
      readonly executeBy: Date;
      /** The policy lets time pass before `executableFrom`, and it is not over: approvers revoke on the card. */
      readonly coolingOff: boolean;
    }
  | { readonly status: 'claimed'; readonly at: Date; readonly executeBy: Date; readonly sendBy: Date }
  | {
      readonly status: 'succeeded' | 'failed';
      readonly at: Date;
      readonly executeBy: Date;
      readonly detail: string | null;
      /** Who says so: our own executor, the outside agent that reported it, or a person who settled it. */
      readonly source: ExecutionSource;
      /** The person who settled it; null where nobody had to, or it was not kept yet. */
      readonly settledBy: PersonRef | null;
    }
  | {
      readonly status: 'unknown';
      readonly at: Date;
      readonly executeBy: Date;
      readonly detail: string | null;
      readonly source: ExecutionSource;
      /** From when the old attempt can no longer send, so that a person may say what became of it. */
      readonly settleFrom: Date;
      /** That time has come, and cards offer it. */
      readonly settleOpen: boolean;
      /** A person asked to run the call again, and that has not come to nothing; null: nobody did. */
      readonly rerun: Rerun | null;
    }
  | {
      readonly status: 'lapsed';
      readonly at: Date;
      readonly executeBy: Date;
      readonly detail: string | null;
    }
  | ({ readonly status: 'revoked'; readonly at: Date; readonly executeBy: Date } & Revocation);

export type ExecutionSource = 'executor' | 'agent' | 'settlement' | 'timeout';

/** Who asked to run a call of unknown outcome again, what they said, and the request that takes its place. */
export interface Rerun {
  readonly by: PersonRef;
  readonly reason: string;
  readonly confirmation: ConfirmationId;
}

/**
 * Why a grant ended unused: something changed, who asked cancelled it (`cancelled`), an approver did (`revoked`), or the
 * agent asked about the same call with other arguments (`superseded`).
 */
export interface Revocation {
  readonly detail: RevocationDetail;
  /** The person who did it; null where a key, a run or the claim itself did. */
  readonly by: PersonRef | null;
  /** What they said; null where they said nothing. */
  readonly reason: string | null;
}

export const REVOCATION_DETAILS = [
  'tool_changed',
  'read_only',
  'frozen',
  'cancelled',
  'revoked',
  'superseded',
] as const;
export type RevocationDetail = (typeof REVOCATION_DETAILS)[number];

export type ExecutionStatus = 'none' | Execution['status'];

/** The record of one question to people: pending, or closed by exactly one decision. */
export type ConfirmationRequest = RequestFacts & {
  readonly votes: readonly Vote[];
  /** When people were reminded; null: not yet. */
  readonly remindedAt: Date | null;
  /** When the seats of the policy's escalation were added; null: they were not. */
  readonly escalatedAt: Date | null;
  /** When the policy's fallback channels were asked; null: they were not. */
  readonly reroutedAt: Date | null;
  /** Holders of the seats whose delegates were seated. */
  readonly delegatedSeats: readonly PersonId[];
  /** The request that takes this one's place; null: none does, or what did ended unused. */
  readonly supersededBy: ConfirmationId | null;
  /** Grows with every change that a card shows; a card is right when it shows the newest. */
  readonly version: number;
} & (
    | { readonly status: 'pending' }
    | { readonly status: 'approved'; readonly decision: Decision; readonly execution: Execution }
    | { readonly status: 'rejected' | 'expired' | 'cancelled' | 'undeliverable'; readonly decision: Decision }
  );

export type ClosedConfirmationRequest = Exclude<ConfirmationRequest, { status: 'pending' }>;

export const executionStatusOf = (request: ConfirmationRequest): ExecutionStatus =>
  request.status === 'approved' ? request.execution.status : 'none';

/** Where a vote or a cancellation came in: a chat channel, or the API under a person's own key. */
export type Surface =
  | {
      readonly kind: 'channel';
      readonly id: ChannelId;
      /** The card from which the person acted; none where it is not known which version they had before them. */
      readonly seen?: SeenCard | null;
      /** It asks the person for what an act lacks, so that nothing has been refused yet. */
      readonly canAsk?: boolean;
    }
  | { readonly kind: 'api' };

export const surfaceName = (surface: Surface): string =>
  surface.kind === 'channel' ? surface.id : surface.kind;
