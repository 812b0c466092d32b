import { canonicalize } from 'json-canonicalize';
import type { JsonObject, JsonValue } from '../json.ts';
import type { AuditFault } from './audit-reader.ts';
import { sha256Hex } from './event-hash.ts';
import { storableText } from './storable-data.ts';
import { parseStoredJson } from './stored-json.ts';
import { earlierFault } from './verify-chains.ts';

/** A request's row beside what the record says of it, both from one snapshot. Times are ISO 8601 texts. */
export interface ConfirmationEvidence {
  readonly id: string;
  readonly status: string;
  readonly organization: string;
  readonly tool: string;
  readonly toolVersion: string | null;
  readonly argsText: string;
  readonly argsDigest: string;
  readonly decision: {
    readonly code: string | null;
    readonly reason: string | null;
    readonly person: string | null;
    readonly personName: string | null;
    readonly at: string | null;
    readonly executeBy: string | null;
  };
  readonly claimed: boolean;
  /** Its `confirmation.requested`, `confirmation.decided` and `grant.claimed` events. */
  readonly events: readonly ConfirmationEventEvidence[];
}

export interface ConfirmationEventEvidence {
  readonly seq: number | null;
  readonly kind: string;
  readonly actorName: string;
  readonly data: JsonObject;
}

/**
 * Compares the requests with the record: each was asked once with the digest its row has, each closed one was decided
 * once and as its row says, and no open one was. Returns the fault with the lowest number in the log.
 */
export async function verifyConfirmations(
  confirmations: AsyncIterable<ConfirmationEvidence>,
): Promise<AuditFault | null> {
  let first: AuditFault | null = null;
  for await (const confirmation of confirmations)
    first = earlierFault(first, confirmationFault(confirmation));
  return first;
}

function confirmationFault(row: ConfirmationEvidence): AuditFault | null {
  const fault = (event: ConfirmationEventEvidence | undefined, what: string): AuditFault => ({
    seq: event?.seq ?? null,
    confirmation: row.id,
    reason: `Confirmation ${row.id} ${what}.`,
  });
  const [requested, requestedAgain] = row.events.filter(({ kind }) => kind === 'confirmation.requested');
  const [decided, decidedAgain] = row.events.filter(({ kind }) => kind === 'confirmation.decided');
  const [claimed, claimedAgain] = row.events.filter(({ kind }) => kind === 'grant.claimed');

  if (!requested) return fault(undefined, 'has a row, but nothing on the record asked for it');
  if (requestedAgain) return fault(requestedAgain, 'was asked for twice');
  if (requested.data.argsDigest !== row.argsDigest)
    return fault(requested, 'was asked for with another digest');
  if (digestOf(row) !== row.argsDigest)
    return fault(requested, 'holds another call than the one that was asked for');
  if (decidedAgain) return fault(decidedAgain, 'was decided twice');
  if (decided && row.status === 'pending') return fault(decided, 'was decided, but its row says pending');
  if (!decided && row.status !== 'pending')
    return fault(undefined, `is ${row.status}, but nothing decided it`);
  const differing = decided ? differingField(row, decided) : null;
  if (differing) return fault(decided, `was decided otherwise than its row says (${differing})`);
  if (claimedAgain) return fault(claimedAgain, 'was claimed twice');
  if (claimed && !row.claimed) return fault(claimed, 'was claimed, but its row says that it was not');
  if (!claimed && row.claimed) return fault(undefined, 'has a row that says claimed, but nothing claimed it');
  return null;
}

/** The first member of the decision's event with which its row does not agree. */
function differingField(
  { status, decision }: ConfirmationEvidence,
  event: ConfirmationEventEvidence,
): string | null {
  const { data, actorName } = event;
  if (data.status !== status) return 'status';
  for (const field of ['code', 'person', 'at', 'executeBy'] as const) {
    if (data[field] !== undefined && data[field] !== decision[field]) return field;
  }
  if (data.reason !== undefined && !isSameText(data.reason, decision.reason)) return 'reason';
  if (decision.person !== null && decision.personName !== actorName) return 'name of the person';
  return null;
}

/**
 * A very long text is cut on the record, and half a surrogate pair is spelt out there while the driver puts U+FFFD
 * into the row: neither is a difference.
 */
function isSameText(recorded: JsonValue, text: string | null): boolean {
  if (text === null || typeof recorded !== 'string') return recorded === text;
  const expected = storableText(text);
  return recorded === expected || recorded.replace(/\\ud[89a-f][0-9a-f]{2}/g, '\ufffd') === expected;
}

/** The digest over exactly what would run; null where the stored arguments are no longer what JSON can say. */
function digestOf({ argsText, organization, tool, toolVersion }: ConfirmationEvidence): string | null {
  const args = parseStoredJson(argsText);
  return args && `sha256:${sha256Hex(canonicalize({ args, organization, tool, toolVersion }))}`;
}
