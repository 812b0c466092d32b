import { type AuditActor, type NewAuditEvent, SYSTEM_ACTOR } from '../audit/audit-event.ts';
import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';

/** The closing event of a request; a unique index allows one. `channel` is null where time or the service closed it. */
export function decided(request: ConfirmationRequest, channel: string | null): NewAuditEvent {
  if (request.status === 'pending') throw new Error(`Confirmation ${request.id} is not decided`);
  const { decision } = request;
  return {
    kind: 'confirmation.decided',
    ...subjectOf(request),
    actor: decision.by ? actorOf(decision.by) : SYSTEM_ACTOR,
    data: {
      status: decision.status,
      code: decision.code,
      person: decision.by?.id ?? null,
      reason: decision.reason,
      channel,
      at: decision.at.toISOString(),
      argsDigest: request.argsDigest,
      executeBy: request.status === 'approved' ? request.execution.executeBy.toISOString() : null,
      ...(request.supersededBy === null ? {} : { supersededBy: request.supersededBy }),
    },
  };
}

/** Which request and run an event is about. */
export const subjectOf = (request: ConfirmationRequest) => ({ confirmation: request.id, run: request.runId });

export const actorOf = (person: PersonRef): AuditActor => ({
  type: 'person',
  id: person.id,
  name: person.name,
});
