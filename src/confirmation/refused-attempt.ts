import type { AuditActor, NewAuditEvent } from '../audit/audit-event.ts';

/**
 * What can be tried in vain, with the event that it leaves. Where several acts leave the same kind, `detail` says which;
 * of a claim, for which a grant is there, it says what revoked the grant. The database knows the acts by name.
 */
export const REFUSALS = {
  vote: { kind: 'vote.refused', data: {} },
  cancel: { kind: 'cancellation.refused', data: {} },
  claim: { kind: 'grant.refused', data: { detail: null } },
  revoke: { kind: 'grant.refused', data: { detail: 'revoke' } },
  outcome: { kind: 'grant.refused', data: { detail: 'outcome' } },
  settle: { kind: 'grant.refused', data: { detail: 'settle' } },
  ask: { kind: 'call.refused', data: {} },
  freeze: { kind: 'freeze.refused', data: { detail: 'freeze' } },
  unfreeze: { kind: 'freeze.refused', data: { detail: 'unfreeze' } },
  read_only: { kind: 'read_only.refused', data: {} },
} as const satisfies Record<string, Pick<NewAuditEvent, 'kind' | 'data'>>;

export type RefusableAct = keyof typeof REFUSALS;

/** Something that somebody tried and that changed nothing, as it goes on the record. */
export interface RefusedAttempt {
  /** Of the chain of the request that it is about, where there is one. */
  readonly event: NewAuditEvent;
  readonly act: RefusableAct;
  readonly code: string;
  /** The person, the API key, the run's agent, or the account that nobody is known by; from what was verified alone. */
  readonly who: string;
  /** The channel's id, `api`, or `run` for what a run of ours tried. */
  readonly surface: string;
  /** Of a callback that is not of the card on record: where it says it comes from. */
  readonly place?: string;
}

/**
 * Puts refused attempts on the record: the first of the same act and code, by the same person, about the same request and
 * from the same surface (or the same stray card). Those that follow say nothing new and leave nothing, so that no number
 * of taps on an old card, and no agent that asks for its grant again and again, makes the request's chain, which its
 * deciders need too, any longer. Attempts about no request that exists are written once an hour.
 *
 * Resolves once the event is committed, now or by the earlier attempt; rejects where that is not known.
 */
export interface RefusalRecorder {
  record(attempt: RefusedAttempt): Promise<void>;
}

/** How `who` names somebody that the configuration knows. */
export const knownAs = ({ type, id }: Pick<AuditActor, 'type' | 'id'>): string => `${type}:${id}`;
