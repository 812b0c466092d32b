import { z } from 'zod';
import { AUDIT_KINDS } from '../../audit/audit-event.ts';
import { cursor, instant, jsonObject, name, pageSize, time, uuid } from './field.ts';

/** An event as list and export show it. */
export const auditEventSchema = z
  .object({
    seq: z.int(),
    id: uuid,
    at: time,
    kind: z.enum(AUDIT_KINDS),
    confirmation: uuid.nullable(),
    run: uuid.nullable(),
    actor: z.object({
      type: z.enum(['person', 'agent', 'key', 'system']),
      id: z.string(),
      name: z.string(),
    }),
    data: jsonObject,
    prevHash: z.string(),
    hash: z.string(),
    requestSeq: z.int(),
    requestPrev: z.string(),
    requestHash: z.string(),
  })
  .meta({
    description: 'One event on the record, chained across the whole log and within its own request or run.',
  });

export type AuditEventJson = z.infer<typeof auditEventSchema>;

export const auditVerificationSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), events: z.int(), head: z.object({ seq: z.int(), hash: z.string() }) }),
  z.object({
    ok: z.literal(false),
    firstBad: z.object({ seq: z.int().nullable(), confirmation: z.string().nullable(), reason: z.string() }),
  }),
]);

export const auditFilterShape = {
  confirmation: z.guid().optional(),
  run: z.guid().optional(),
  kind: z.enum(AUDIT_KINDS).optional(),
  person: name.optional(),
  from: instant.optional(),
  to: instant.optional(),
};

export const auditPageQuery = z.strictObject({
  ...auditFilterShape,
  limit: pageSize,
  cursor: cursor.optional(),
});

export const auditExportQuery = z.strictObject({
  ...auditFilterShape,
  format: z.enum(['jsonl', 'csv']).default('jsonl'),
});
