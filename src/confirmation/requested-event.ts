import type { AuditActor, NewAuditEvent } from '../audit/audit-event.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import { subjectOf } from './decision-event.ts';
import type { NewConfirmation } from './ledger.ts';

/** The first event of a request: what is asked, of whom, under which rule. `actor` is who asks. */
export const requested = (
  request: ConfirmationRequest,
  { places }: Pick<NewConfirmation, 'places'>,
  actor: AuditActor,
): NewAuditEvent => ({
  kind: 'confirmation.requested',
  ...subjectOf(request),
  actor,
  data: {
    tool: request.tool,
    toolVersion: request.toolVersion,
    argsDigest: request.argsDigest,
    verificationCode: request.verificationCode,
    person: request.requester.id,
    requesterNamedByAgent: request.requesterNamedByAgent,
    agentOwner: request.agentOwner,
    session: request.session,
    callId: request.callId,
    apiKey: request.apiKeyId,
    parentRun: request.parentRunId,
    supersedes: request.supersedes,
    // What it says of that one is on the record there.
    follows: request.follows?.id ?? null,
    policy: { ...request.policy },
    approvers: request.approvers.map((approver) => approver.id),
    channels: [...new Set(places.map(({ channel }) => channel))],
    writtenTo: [...new Set(places.flatMap(({ direct }) => direct?.person.id ?? []))],
    decideBy: request.decideBy.toISOString(),
  },
});
