import type { AuditFault } from './audit-reader.ts';

/** One event as a link of its own chain, with the chain's head in the same snapshot (null: the row is gone). */
export interface ChainedEvent {
  readonly chain: string;
  readonly confirmation: string | null;
  readonly seq: number | null;
  readonly requestSeq: number;
  readonly requestPrev: string;
  readonly requestHash: string;
  readonly head: { readonly length: number; readonly hash: string } | null;
}

/**
 * Follows every chain from its first event to its head, given all events by chain and `requestSeq`. Returns the fault
 * with the lowest number in the log; all chains have to be read for that.
 */
export async function verifyChains(events: AsyncIterable<ChainedEvent>): Promise<AuditFault | null> {
  let first: AuditFault | null = null;
  let last: ChainedEvent | null = null;
  for await (const event of events) {
    if (last && last.chain !== event.chain) {
      first = earlierFault(first, endFault(last));
      last = null;
    }
    first = earlierFault(first, followFault(event, last));
    // A second event in one place is a fault of its own; what follows is measured by the first.
    if (!last || event.requestSeq > last.requestSeq) last = event;
  }
  return last ? earlierFault(first, endFault(last)) : first;
}

/** The one with the lower number; a fault without a number comes after all that have one, then the first found. */
export function earlierFault(one: AuditFault | null, other: AuditFault | null): AuditFault | null {
  if (!one || !other) return one ?? other;
  return placeOf(other) < placeOf(one) ? other : one;
}

const placeOf = (fault: AuditFault): number => fault.seq ?? Number.POSITIVE_INFINITY;

function followFault(event: ChainedEvent, last: ChainedEvent | null): AuditFault | null {
  const { seq, confirmation, chain, requestSeq } = event;
  const fault = (reason: string): AuditFault => ({ seq, confirmation, reason });
  if (last && requestSeq <= last.requestSeq) return fault(`Number ${requestSeq} of ${chain} is there twice.`);
  if (requestSeq !== (last?.requestSeq ?? 0) + 1) {
    return fault(`An event before number ${requestSeq} of ${chain} is missing.`);
  }
  if (event.requestPrev !== (last?.requestHash ?? '')) {
    return fault(`Number ${requestSeq} of ${chain} does not follow the event before it.`);
  }
  if (seq !== null && last?.seq != null && last.seq > seq) {
    return fault(`Number ${requestSeq} of ${chain} stands in the log before number ${last.requestSeq}.`);
  }
  if (requestSeq === (event.head?.length ?? 0) + 1) {
    return fault(`Number ${requestSeq} of ${chain} lies behind the head of its chain.`);
  }
  return null;
}

function endFault(last: ChainedEvent): AuditFault | null {
  const { chain, head, requestSeq, confirmation } = last;
  if (head && requestSeq < head.length) {
    const reason = `The end of ${chain} is missing: ${head.length} events were appended, ${requestSeq} are there.`;
    return { seq: null, confirmation, reason };
  }
  if (head && requestSeq === head.length && head.hash !== last.requestHash) {
    const reason = `The last event of ${chain} is not the one its head names: one of the two was changed.`;
    return { seq: last.seq, confirmation, reason };
  }
  return null;
}
