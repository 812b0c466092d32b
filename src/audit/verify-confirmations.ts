import { canonicalize } from 'json-canonicalize';
import type { JsonObject, JsonValue } from '../json.ts';
import type { AuditFault } from './audit-reader.ts';
import { sha256Hex } from './event-hash.ts';
import { parseStoredJson } from './stored-json.ts';
import { earlierFault } from './verify-chains.ts';

/** A request's row beside what the record says of it, both from one snapshot. */
export interface ConfirmationEvidence {
  readonly id: string;
  readonly status: string;
  readonly organization: string;
  readonly tool: string;
  readonly toolVersion: string | null;
  readonly argsText: string;
  readonly argsDigest: string;
  readonly decisionCode: string | null;
  readonly decisionReason: string | null;
  readonly decidedBy: { readonly id: string; readonly name: string | null } | null;
  /** Its `confirmation.requested` and `confirmation.decided` events. */
  readonly events: readonly {
    readonly seq: number | null;
    readonly kind: string;
    readonly data: JsonObject;
  }[];
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
  const fault = (seq: number | null, reason: string): AuditFault => ({ seq, confirmation: row.id, reason });
  const [requested, ...askedAgain] = row.events.filter(({ kind }) => kind === 'confirmation.requested');
  const [decided, ...decidedAgain] = row.events.filter(({ kind }) => kind === 'confirmation.decided');

  if (!requested) return fault(null, `Nothing on the record asked for the confirmation ${row.id}.`);
  if (askedAgain[0]) return fault(askedAgain[0].seq, `The confirmation ${row.id} was asked for twice.`);
  if (requested.data.argsDigest !== row.argsDigest || digestOf(row) !== row.argsDigest) {
    return fault(
      requested.seq,
      `The call that the confirmation ${row.id} holds is not the one that was asked for.`,
    );
  }
  if (decidedAgain[0]) return fault(decidedAgain[0].seq, `The confirmation ${row.id} was decided twice.`);
  if (row.status === 'pending') {
    return decided
      ? fault(decided.seq, `The confirmation ${row.id} was decided, but its row says pending.`)
      : null;
  }
  if (!decided)
    return fault(null, `The confirmation ${row.id} is ${row.status}, but nothing on the record decided it.`);
  const differing = differingField(row, decided.data);
  return differing
    ? fault(decided.seq, `The decision on the confirmation ${row.id} differs from its row: ${differing}.`)
    : null;
}

/** The first member of the decision's event that its row does not confirm. */
function differingField(row: ConfirmationEvidence, data: JsonObject): string | null {
  if (data.status !== row.status) return 'status';
  if (data.code !== undefined && data.code !== row.decisionCode) return 'code';
  if (data.reason !== undefined && !isSameText(data.reason, row.decisionReason)) return 'reason';
  if (data.by !== undefined && !isSamePerson(data.by, row.decidedBy)) return 'by';
  return null;
}

/** A long reason is cut on the record and marked with `…`; what was kept has to agree. */
function isSameText(recorded: JsonValue, text: string | null): boolean {
  if (typeof recorded !== 'string' || text === null) return recorded === text;
  const cut = recorded.match(/^(.*)… \(\d+ more characters\)$/s)?.[1];
  return recorded === text || (cut !== undefined && text.startsWith(cut));
}

function isSamePerson(recorded: JsonValue, person: ConfirmationEvidence['decidedBy']): boolean {
  if (recorded === null || person === null) return recorded === person;
  if (typeof recorded !== 'object' || Array.isArray(recorded)) return recorded === person.id;
  return recorded.id === person.id && (recorded.name === undefined || recorded.name === person.name);
}

/** The digest over exactly what would run; null where the stored arguments are no longer what JSON can say. */
function digestOf({ argsText, organization, tool, toolVersion }: ConfirmationEvidence): string | null {
  const args = parseStoredJson(argsText);
  return args && `sha256:${sha256Hex(canonicalize({ args, organization, tool, toolVersion }))}`;
}
