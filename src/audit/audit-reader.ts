import type { AuditEvent, AuditKind } from './audit-event.ts';

/** What auditors may ask of the record. Only sequenced events are shown; the newest follow within a second. */
export interface AuditReader {
  /** One page, oldest first. Throws `invalid_request` for a cursor that no page gave. */
  list(filter: AuditFilter & AuditPageRequest): Promise<AuditPage>;
  /** The whole selection, oldest first, read page by page; events sequenced meanwhile may still be in it. */
  export(filter: AuditFilter): AsyncIterable<AuditEvent>;
  /** Recomputes every hash of the record. Never throws for what the rows hold; a throw means they cannot be read. */
  verify(): Promise<AuditVerification>;
}

export interface AuditFilter {
  readonly confirmation?: string | undefined;
  readonly run?: string | undefined;
  readonly kind?: AuditKind | undefined;
  /** A person's id: who acted, or whom the event is about (`data.person`). */
  readonly person?: string | undefined;
  /** The first moment that counts. */
  readonly from?: Date | undefined;
  /** The first moment that no longer counts. */
  readonly to?: Date | undefined;
}

export interface AuditPageRequest {
  /** At most 1,000; default 100. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

export interface AuditPage {
  readonly items: readonly AuditEvent[];
  readonly nextCursor: string | null;
}

/** The end of the log. Kept elsewhere, it shows later whether the log was cut or rewritten. */
export interface AuditHead {
  readonly seq: number;
  readonly hash: string;
}

/** The first place where the record is not what was written. */
export interface AuditFault {
  /** Number in the log; null for an event without one, or where the number is not known. */
  readonly seq: number | null;
  readonly confirmation: string | null;
  /** One sentence in English. */
  readonly reason: string;
}

export type AuditVerification =
  | { readonly ok: true; readonly events: number; readonly head: AuditHead }
  | { readonly ok: false; readonly firstBad: AuditFault };
