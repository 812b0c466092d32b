import type { JsonObject } from '../json.ts';

/** Every kind of event on the record; noun.past. `docs/audit.md` says what the data of each holds. */
export const AUDIT_KINDS = [
  'confirmation.requested',
  'confirmation.decided',
  'vote.cast',
  'vote.refused',
  'cancellation.refused',
  'delegate.seated',
  'request.escalated',
  'request.reminded',
  'request.rerouted',
  'card.delivered',
  'card.failed',
  'card.moved',
  'grant.claimed',
  'grant.refused',
  'grant.revoked',
  'grant.lapsed',
  'outcome.recorded',
  'outcome.settled',
  'outcome.reopened',
  'call.allowed',
  'call.denied',
  'call.refused',
  'tool.executed',
  'tool.stubbed',
  'hook.failed',
  'hooks.changed',
  'callback.refused',
  'run.started',
  'run.finished',
  'read_only.changed',
  'read_only.refused',
  'freeze.started',
  'freeze.end_requested',
  'freeze.ended',
  'freeze.refused',
] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

export interface AuditActor {
  readonly type: 'person' | 'agent' | 'key' | 'system';
  readonly id: string;
  readonly name: string;
}

export const SYSTEM_ACTOR: AuditActor = { type: 'system', id: 'countersign', name: 'Countersign' };

/** An event as the code that causes it writes it; chain and hashes are added in the same transaction. */
export interface NewAuditEvent {
  readonly kind: AuditKind;
  readonly confirmation: string | null;
  readonly run: string | null;
  readonly actor: AuditActor;
  /**
   * Times are strings; never a secret. Verification compares two kinds with the request's row:
   * `confirmation.requested` holds `argsDigest`, `confirmation.decided` holds `status` and should hold `code`,
   * `reason` and `by` (`{id, name}` or null) as the row does. A person an event is about, who is not its actor, is
   * `person` (an id): the filter of that name finds both.
   */
  readonly data: JsonObject;
}

/** An event on the record. `seq`, `prevHash` and `hash` are the whole log's, set by the sequencer. */
export interface AuditEvent extends NewAuditEvent {
  readonly seq: number;
  readonly id: string;
  readonly at: Date;
  readonly prevHash: string;
  readonly hash: string;
  readonly requestSeq: number;
  readonly requestPrev: string;
  readonly requestHash: string;
}

/** Writes one event outside any other transaction (hook failures, refused callbacks, runs). */
export interface AuditRecorder {
  record(event: NewAuditEvent): Promise<void>;
}
