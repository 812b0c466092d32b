import type { AuditActor, NewAuditEvent } from '../audit/audit-event.ts';

/** Something that somebody tried and that changed nothing, as it goes on the record. */
export interface RefusedAttempt {
  /** Of the chain of the request that it is about, where there is one. */
  readonly event: NewAuditEvent;
  readonly act: 'vote' | 'revoke' | 'settle';
  readonly code: string;
  /** The person, the API key, or the account that nobody is known by; from what was verified alone. */
  readonly who: string;
  /** The channel's id, or `api`. */
  readonly surface: string;
  /** Of a callback that is not of the card on record: where it says it comes from. */
  readonly place?: string;
}

/**
 * Puts refused attempts on the record: the first of the same act and code, by the same person, about the same request and
 * from the same surface (or the same stray card). Those that follow say nothing new and leave nothing, so that no number
 * of taps on an old card makes the request's chain, which its deciders need too, any longer. Attempts about no request
 * that exists are written once an hour.
 *
 * Resolves once the event is committed, now or by the earlier attempt; rejects where that is not known.
 */
export interface RefusalRecorder {
  record(attempt: RefusedAttempt): Promise<void>;
}

/** How `who` names somebody that the configuration knows. */
export const knownAs = ({ type, id }: Pick<AuditActor, 'type' | 'id'>): string => `${type}:${id}`;
