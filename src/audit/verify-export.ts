import type { AuditHead, AuditVerification } from './audit-reader.ts';
import { canonicalEventText, chainOf, type HashedEvent, logHashOf, sha256Hex } from './event-hash.ts';

/** One event of an export, nothing of it believed yet. */
export interface ExportedEvent extends HashedEvent {
  readonly requestHash: string;
  readonly seq: number;
  readonly prevHash: string;
  readonly hash: string;
}

/**
 * Follows both chains through an export alone, oldest event first, without the database behind it. `head` is one that
 * was kept elsewhere: the event of that number must be there and have that hash. With `selection` (an export that was
 * filtered) events may be missing between others; each that is there still has to be unchanged and in order.
 */
export async function verifyExport(
  events: AsyncIterable<ExportedEvent>,
  { head, selection }: { readonly head: AuditHead | null; readonly selection: boolean },
): Promise<AuditVerification> {
  const chains = new Map<string, ChainEnd>();
  let last: AuditHead = { seq: 0, hash: '' };
  let count = 0;
  let headSeen = head === null || head.seq === 0;
  for await (const event of events) {
    const { seq, confirmation, hash, requestSeq, requestHash } = event;
    const chain = chainOf(event);
    const reason =
      hashFault(event) ??
      logFault(event, last, selection) ??
      chainFault(event, chains.get(chain) ?? { seq: 0, hash: '' }, selection) ??
      (head?.seq === seq && head.hash !== hash ? 'It is not the event whose hash was kept.' : null);
    if (reason !== null) return { ok: false, firstBad: { seq, confirmation, reason } };
    headSeen ||= head?.seq === seq;
    last = { seq, hash };
    chains.set(chain, { seq: requestSeq, hash: requestHash });
    count += 1;
  }
  if (!headSeen) {
    const reason = `The event whose hash was kept is not there: the last one has the number ${last.seq}.`;
    return { ok: false, firstBad: { seq: head?.seq ?? null, confirmation: null, reason } };
  }
  return { ok: true, events: count, head: last };
}

/** The last event of a chain of its own that was read. */
type ChainEnd = AuditHead;

function hashFault(event: ExportedEvent): string | null {
  if (sha256Hex(canonicalEventText(event)) !== event.requestHash)
    return 'What it says is not what was hashed.';
  return logHashOf(event) === event.hash ? null : 'Its number or its place in the log was changed.';
}

function logFault({ seq, prevHash }: ExportedEvent, last: AuditHead, selection: boolean): string | null {
  if (seq <= last.seq) return `It stands behind number ${last.seq}.`;
  if (seq === last.seq + 1)
    return prevHash === last.hash ? null : 'It does not follow the event before it in the log.';
  return selection ? null : `Number ${last.seq + 1} is missing.`;
}

function chainFault(
  { requestSeq, requestPrev }: ExportedEvent,
  last: ChainEnd,
  selection: boolean,
): string | null {
  if (requestSeq === last.seq + 1)
    return requestPrev === last.hash ? null : 'It does not follow the event before it in its own chain.';
  if (requestSeq <= last.seq) return `Number ${requestSeq} of its own chain is there twice.`;
  return selection ? null : `Number ${last.seq + 1} of its own chain is missing.`;
}
