import { Readable } from 'node:stream';
import { z } from 'zod';
import type { AuditEvent } from '../../audit/audit-event.ts';
import type { AuditReader } from '../../audit/audit-reader.ts';
import { ACCESS } from '../access.ts';
import { AUDIT_CSV_HEADER, auditCsvLine } from '../audit-csv.ts';
import { auditEventJson } from '../audit-json.ts';
import type { HttpApp } from '../http-app.ts';
import {
  type AuditEventJson,
  auditEventSchema,
  auditExportQuery,
  auditPageQuery,
  auditVerificationSchema,
} from '../schemas/audit-schema.ts';
import { problems } from '../schemas/problem-schema.ts';
import { startStream } from '../started-stream.ts';

interface ExportFormat {
  readonly mediaType: string;
  readonly head: string;
  readonly line: (event: AuditEventJson) => string;
}

const FORMATS: Readonly<Record<z.infer<typeof auditExportQuery>['format'], ExportFormat>> = {
  jsonl: {
    mediaType: 'application/x-ndjson; charset=utf-8',
    head: '',
    line: (event) => `${JSON.stringify(event)}\n`,
  },
  csv: { mediaType: 'text/csv; charset=utf-8', head: AUDIT_CSV_HEADER, line: auditCsvLine },
};

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
      exposeHeadRoute: false,
      config: { access: ACCESS.readAudit },
      schema: {
        summary: 'The whole selection as a stream, one event a line',
        tags: ['audit'],
        querystring: auditExportQuery,
        response: {
          200: {
            description:
              'One JSON object a line, or one record of CSV under a line with the names of its columns.',
            content: {
              'application/x-ndjson': { schema: z.string() },
              'text/csv': { schema: z.string() },
            },
          },
          ...problems(),
        },
      },
    },
    async (request, reply) => {
      const { format: extension, ...filter } = request.query;
      const format = FORMATS[extension];
      const started = await startStream(audit.export(filter));
      reply
        .type(format.mediaType)
        .header('content-disposition', `attachment; filename="countersign-audit.${extension}"`);
      // A break in the middle destroys the connection: a cut export can never be taken for a whole one.
      const body = started.kind === 'empty' ? format.head : Readable.from(linesOf(started.items, format));
      return reply.send(body as never);
    },
  );
}

async function* linesOf(
  events: AsyncIterable<AuditEvent>,
  { head, line }: ExportFormat,
): AsyncGenerator<string, void, undefined> {
  if (head !== '') yield head;
  for await (const event of events) yield line(auditEventJson(event));
}
