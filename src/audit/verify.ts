import type { AuditFault, AuditVerification } from './audit-reader.ts';
import type { ChainedEvent } from './verify-chains.ts';
import { earlierFault, verifyChains } from './verify-chains.ts';
import type { ConfirmationEvidence } from './verify-confirmations.ts';
import { verifyConfirmations } from './verify-confirmations.ts';
import type { LogPage, StoredAuditEvent } from './verify-log.ts';
import { eventFault, verifyLog } from './verify-log.ts';

/** Everything verification reads, page by page. Each page is one snapshot; rows may be appended between pages. */
export interface AuditEvidence {
  /** Events without a number yet. */
  unsequenced(): AsyncIterable<StoredAuditEvent>;
  /** The log by number. The last page is the one that holds everything up to its own head. */
  log(): AsyncIterable<LogPage>;
  /** All events by chain and `requestSeq`. */
  chains(): AsyncIterable<ChainedEvent>;
  confirmations(): AsyncIterable<ConfirmationEvidence>;
  /** What the database finds by itself: heads without events, requests without a row, events that overtook another. */
  contradictions(): Promise<readonly AuditFault[]>;
}

/**
 * Recomputes the whole record and names the first place where it is not what was written: the lowest number in the log,
 * then whatever has none.
 */
export async function verifyAudit(evidence: AuditEvidence): Promise<AuditVerification> {
  // Before the log: what is numbered in between is then seen there.
  const waiting = await firstOwnFault(evidence.unsequenced());
  const log = await verifyLog(evidence.log());
  let first = log.kind === 'broken' ? log.fault : null;
  first = earlierFault(first, await verifyChains(evidence.chains()));
  first = earlierFault(first, await verifyConfirmations(evidence.confirmations()));
  first = earlierFault(first, waiting);
  for (const fault of await evidence.contradictions()) first = earlierFault(first, fault);

  if (first) return { ok: false, firstBad: first };
  if (log.kind === 'broken') return { ok: false, firstBad: log.fault };
  return { ok: true, events: log.events, head: log.head };
}

async function firstOwnFault(events: AsyncIterable<StoredAuditEvent>): Promise<AuditFault | null> {
  for await (const event of events) {
    const fault = eventFault(event);
    if (fault) return fault;
  }
  return null;
}
