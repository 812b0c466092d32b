import { type NewAuditEvent, SYSTEM_ACTOR } from '../audit/audit-event.ts';
import { directPlaces, type Reach } from './card-places.ts';
import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';
import { subjectOf } from './decision-event.ts';
import type { LedgerTransaction } from './ledger.ts';
import { type DueSteps, dueSteps } from './next-step.ts';
import { escalatedSeatsOf } from './seats.ts';

/**
 * Does what is due on a pending request that this transaction holds: seats delegates, reminds, escalates, each with
 * its event, and writes to whom that adds. They get a card of their own also where the policy asks in the chats alone:
 * whoever wrote it thought of its approvers, and nobody knows whether the others sit in these chats. Every replica may
 * try; the first one that holds the request does it. Null: the deadline came first.
 */
export async function attendInside(
  transaction: LedgerTransaction,
  request: ConfirmationRequest,
  now: Date,
  reach: Reach,
): Promise<ConfirmationRequest | null> {
  const due = dueSteps(request, now);
  const after = await transaction.takeSteps(request.id, {
    delegatedSeats: due.seat.map(({ holder }) => holder),
    escalate: due.escalate,
    remind: due.remind,
    next: due.next,
  });
  if (after === null) return null;
  if (due.escalate) await transaction.queueReminders(request.id, 'escalation');
  if (due.remind) await transaction.queueReminders(request.id, 'reminder');
  const places = directPlaces(request, addedBy(request, due), reach);
  if (places.length > 0) await transaction.queueCards(request.id, places);
  for (const event of eventsOf(request, due)) transaction.record(event);
  return after;
}

const addedBy = (request: ConfirmationRequest, due: DueSteps): readonly PersonRef[] => [
  ...due.seat.map(({ delegate }) => delegate),
  ...(due.escalate ? escalatedSeatsOf(request) : []),
];

function* eventsOf(request: ConfirmationRequest, due: DueSteps): Iterable<NewAuditEvent> {
  const about = { ...subjectOf(request), actor: SYSTEM_ACTOR };
  const { escalation, quorum } = request.policy;
  for (const { holder, delegate } of due.seat)
    yield { kind: 'delegate.seated', ...about, data: { person: delegate.id, for: holder } };
  if (due.escalate)
    yield {
      kind: 'request.escalated',
      ...about,
      data: { added: (escalation?.people ?? []).map(({ id }) => id), quorum },
    };
  if (due.remind)
    yield { kind: 'request.reminded', ...about, data: { decideBy: request.decideBy.toISOString() } };
}
