import type { AuditActor } from './audit-event.ts';
import type { AuditFault, AuditHead } from './audit-reader.ts';
import { canonicalEventText, chainOf, logHashOf, sha256Hex } from './event-hash.ts';
import { parseStoredJson } from './stored-json.ts';

/** A row of the record as it stands in the database, nothing of it believed yet. */
export interface StoredAuditEvent {
  readonly id: string;
  /** ISO 8601 in UTC; more digits than milliseconds only where the row has them. */
  readonly at: string;
  readonly kind: string;
  readonly confirmation: string | null;
  readonly run: string | null;
  readonly actor: { readonly type: AuditActor['type']; readonly id: string; readonly name: string };
  /** The JSON as the database prints it. */
  readonly dataText: string;
  readonly chain: string;
  readonly requestSeq: number;
  readonly requestPrev: string;
  readonly requestHash: string;
  readonly canonical: string;
  /** It has a place in the sequencer's queue. */
  readonly queued: boolean;
  readonly seq: number | null;
  readonly prevHash: string | null;
  readonly hash: string | null;
}

/** Sequenced events by number, and the head of the log in the same snapshot (null: the row is gone). */
export interface LogPage {
  readonly events: readonly StoredAuditEvent[];
  readonly head: AuditHead | null;
}

export type LogVerification =
  | { readonly kind: 'whole'; readonly events: number; readonly head: AuditHead }
  | { readonly kind: 'broken'; readonly fault: AuditFault };

/**
 * Follows the chain of the whole log from its first event to its head. Events may be appended meanwhile: the last page
 * has to hold everything up to its own head.
 */
export async function verifyLog(pages: AsyncIterable<LogPage>): Promise<LogVerification> {
  let last: AuditHead = { seq: 0, hash: '' };
  let head: AuditHead | null = null;
  for await (const page of pages) {
    head = page.head;
    for (const event of page.events) {
      const fault = linkFault(event, last) ?? eventFault(event);
      if (fault) return { kind: 'broken', fault };
      last = { seq: last.seq + 1, hash: event.hash ?? '' };
      if (head && last.seq > head.seq) {
        return broken(event, `Event ${last.seq} lies behind the head of the log, which is ${head.seq}.`);
      }
    }
  }
  if (!head) return { kind: 'broken', fault: { ...NOWHERE, reason: 'The head of the log is missing.' } };
  if (last.seq < head.seq) return { kind: 'broken', fault: missing(last.seq + 1) };
  if (last.hash !== head.hash) {
    const reason = `The head of the log is not the hash of event ${last.seq}: one of the two was changed.`;
    return { kind: 'broken', fault: { seq: last.seq, confirmation: null, reason } };
  }
  return { kind: 'whole', events: last.seq, head };
}

/** What is wrong with one row on its own, sequenced or not: its columns, its text and its own hash must agree. */
export function eventFault(event: StoredAuditEvent): AuditFault | null {
  const { seq, confirmation } = event;
  const fault = (reason: string): AuditFault => ({ seq, confirmation, reason: `${nameOf(event)} ${reason}` });
  const data = parseStoredJson(event.dataText);
  if (!data) return fault('holds data that was never written so.');
  if (canonicalEventText({ ...event, data }) !== event.canonical) {
    return fault('was changed: its columns are not what its stored text says.');
  }
  if (sha256Hex(event.canonical) !== event.requestHash)
    return fault('was changed: its hash is not that of its text.');
  if (event.queued !== (seq === null))
    return fault('is in the queue for numbers though it has one, or is not though it has none.');
  if (chainOf(event) !== event.chain) return fault(`stands in the chain of another: ${event.chain}.`);
  return null;
}

function linkFault(event: StoredAuditEvent, last: AuditHead): AuditFault | null {
  const expected = last.seq + 1;
  if (event.seq === null || event.seq < expected) {
    return broken(event, `${nameOf(event)} stands twice or out of order in the log.`).fault;
  }
  if (event.seq > expected) return missing(expected);
  if (event.prevHash !== last.hash) {
    return broken(
      event,
      `${nameOf(event)} does not follow event ${last.seq}: one of the two was put there or changed.`,
    ).fault;
  }
  if (event.hash !== logHashOf({ requestHash: event.requestHash, prevHash: last.hash, seq: expected })) {
    return broken(event, `${nameOf(event)} was changed: its link in the log is not that of its hash.`).fault;
  }
  return null;
}

const NOWHERE = { seq: null, confirmation: null } as const;

const missing = (seq: number): AuditFault => ({
  seq,
  confirmation: null,
  reason: `Event ${seq} is missing.`,
});

const broken = (event: StoredAuditEvent, reason: string) => ({
  kind: 'broken' as const,
  fault: { seq: event.seq, confirmation: event.confirmation, reason },
});

const nameOf = (event: StoredAuditEvent): string =>
  event.seq === null ? `The event ${event.id} (without a number yet)` : `Event ${event.seq}`;
