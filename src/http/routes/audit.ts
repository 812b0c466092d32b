import { Readable } from 'node:stream';
import { z } from 'zod';
import type { AuditEvent } from '../../audit/audit-event.ts';
import type { AuditReader } from '../../audit/audit-reader.ts';
import { CountersignError } from '../../errors.ts';
import { ACCESS } from '../access.ts';
import { auditEventJson } from '../audit-json.ts';
import type { HttpApp } from '../http-app.ts';
import {
  auditEventSchema,
  auditExportQuery,
  auditPageQuery,
  auditVerificationSchema,
} from '../schemas/audit-schema.ts';
import { problems } from '../schemas/problem-schema.ts';
import { startStream } from '../started-stream.ts';

const JSON_LINES = 'application/x-ndjson; charset=utf-8';

/** `GET /v1/audit/events`, `/verify` and `/export`: the record. */
export function auditRoutes(app: HttpApp, { audit }: { readonly audit: AuditReader }): void {
  app.get(
    '/audit/events',
    {
      config: { access: ACCESS.readAudit },
      schema: {
        summary: 'The record, oldest first',
        tags: ['audit'],
        querystring: auditPageQuery,
        response: {
          200: z.object({ items: z.array(auditEventSchema), nextCursor: z.string().nullable() }),
          ...problems(),
        },
      },
    },
    async (request) => {
      const page = await audit.list(request.query);
      return { items: page.items.map(auditEventJson), nextCursor: page.nextCursor };
    },
  );

  app.get(
    '/audit/verify',
    {
      config: { access: ACCESS.readAudit },
      schema: {
        summary: 'Recompute every hash of the record',
        tags: ['audit'],
        response: { 200: auditVerificationSchema, ...problems() },
      },
    },
    async () => {
      const result = await audit.verify();
      return result.ok
        ? { ok: true as const, events: result.events, head: { ...result.head } }
        : { ok: false as const, firstBad: { ...result.firstBad } };
    },
  );

  app.get(
    '/audit/export',
    {
      config: { access: ACCESS.readAudit },
      schema: {
        summary: 'The whole selection as a stream, one event a line',
        tags: ['audit'],
        querystring: auditExportQuery,
        response: {
          200: {
            description: 'One JSON object a line.',
            content: { 'application/x-ndjson': { schema: z.string() } },
          },
          ...problems(),
        },
      },
    },
    async (request, reply) => {
      const { format, ...filter } = request.query;
      if (format === 'csv') {
        throw new CountersignError(
          'invalid_request',
          'format: csv is not available in this version; use jsonl',
        );
      }
      const started = await startStream(audit.export(filter));
      reply.type(JSON_LINES).header('content-disposition', 'attachment; filename="countersign-audit.jsonl"');
      // A break in the middle destroys the connection: a cut export can never be taken for a whole one.
      return reply.send((started.kind === 'empty' ? '' : Readable.from(lines(started.items))) as never);
    },
  );
}

async function* lines(events: AsyncIterable<AuditEvent>): AsyncGenerator<string, void, undefined> {
  for await (const event of events) yield `${JSON.stringify(auditEventJson(event))}\n`;
}
