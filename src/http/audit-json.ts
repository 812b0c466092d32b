import type { AuditEvent } from '../audit/audit-event.ts';
import type { AuditEventJson } from './schemas/audit-schema.ts';

/** An event of the record as the contract shows it, with the links of its own chain. */
export const auditEventJson = (event: AuditEvent): AuditEventJson => ({
  seq: event.seq,
  id: event.id,
  at: event.at.toISOString(),
  kind: event.kind,
  confirmation: event.confirmation,
  run: event.run,
  actor: { type: event.actor.type, id: event.actor.id, name: event.actor.name },
  data: event.data,
  prevHash: event.prevHash,
  hash: event.hash,
  requestSeq: event.requestSeq,
  requestPrev: event.requestPrev,
  requestHash: event.requestHash,
});
