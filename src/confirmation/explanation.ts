import type { ConfirmationRequest } from './confirmation-request.ts';
import type { FrozenPolicy } from './frozen-policy.ts';
import type { PolicyTrial } from './policy-trial.ts';

/** Ids are plain texts: an explanation is read, and nothing is done with it. */
export interface ExplainedName {
  readonly id: string;
  readonly name: string;
}

/** Why a call was, or would be, asked about; who could approve it, and how far that is. */
export interface Explanation {
  readonly call: {
    readonly tool: string;
    readonly agent: string;
    readonly requester: ExplainedName | null;
    readonly agentOwner: string | null;
    /** A confirmation is required whatever policies say; null where that was not kept. */
    readonly flagged: boolean | null;
    /** As on the request; null for a call that is only thought of. */
    readonly argsDigest: string | null;
    readonly verificationCode: string | null;
  };
  readonly answer: ExplainedAnswer;
  /** The rules in the order in which they were tried; null for a request from before this was kept. */
  readonly trials: readonly PolicyTrial[] | null;
  readonly configRevision: string;
  /** The rule as it was frozen; null where nobody is asked. */
  readonly rule: FrozenPolicy | null;
  readonly people: readonly ExplainedPerson[];
  readonly quorum: ExplainedQuorum | null;
  /** What stops the call at this moment beside the rule; null for a call that is only thought of. */
  readonly now: ExplainedNow | null;
}

export interface ExplainedNow {
  /** Every freeze that covers the tool and has not ended, the oldest first. */
  readonly freezes: readonly ExplainedFreeze[];
  /** Which switch keeps an open request's call from writing, the wider one where both do; else null. */
  readonly readOnly: 'organization' | 'connector' | null;
  /** Of an open request: the tool is another one by now, so that a claim would only revoke the grant. */
  readonly toolChanged: boolean;
  /** ISO time until when an approved call waits for somebody to revoke it; null where no cool-off runs. */
  readonly coolingOffUntil: string | null;
}

export interface ExplainedFreeze {
  readonly id: string;
  readonly tools: readonly string[];
  readonly reason: string;
  readonly startedAt: string;
  readonly startedBy: ExplainedName;
  /** False for a request that is closed, or has run: it is only the tool that is held. */
  readonly holdsRequest: boolean;
}

export type ExplainedAnswer =
  | { readonly kind: 'asked'; readonly policy: string; readonly status: ConfirmationRequest['status'] }
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly message: string; readonly argument: string | null };

/** What speaks against somebody's approval. */
export const OBSTACLES = [
  'requester',
  'agent_owner',
  'excluded',
  'below_floor',
  /** When the request was made. */
  'inactive_then',
  /** Of an open request: they have left since. */
  'inactive_now',
  'away',
  /** Their seat comes with the escalation, which has not happened. */
  'not_escalated',
  /** Of a delegate, who then takes nobody else's. */
  'has_a_seat',
] as const;
export type Obstacle = (typeof OBSTACLES)[number];

export interface ExplainedPerson {
  readonly person: ExplainedName;
  /** Which entries of the rule name them, as in the file; `escalation` for seats that escalation adds. */
  readonly through: readonly string[];
  readonly mayApprove: boolean;
  readonly obstacles: readonly Obstacle[];
  /** Planned when the request was made; ISO times. */
  readonly away: {
    readonly from: string | null;
    readonly until: string | null;
    readonly delegate: {
      readonly person: ExplainedName;
      /** Their standing in is on the record. */
      readonly isSeated: boolean;
      readonly obstacles: readonly Obstacle[];
    } | null;
  } | null;
}

export interface ExplainedQuorum {
  readonly needed: number;
  readonly given: number;
  /** Approvals that are still missing; 0 once it is closed as approved. */
  readonly missing: number;
  /** Each person once, with whose seat they took: their own, or that of somebody for whom they stand in. */
  readonly approvedBy: readonly { readonly person: ExplainedName; readonly seat: ExplainedName }[];
}
