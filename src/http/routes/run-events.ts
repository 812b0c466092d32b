import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RunService } from '../../agent/run-service.ts';
import type { Clock } from '../../clock.ts';
import { CountersignError } from '../../errors.ts';
import { ACCESS } from '../access.ts';
import type { HttpApp } from '../http-app.ts';
import type { OpenRequests } from '../open-requests.ts';
import type { FindRun } from '../run-access.ts';
import { idParams } from '../schemas/field.ts';
import { problems } from '../schemas/problem-schema.ts';
import { serverSentEvents } from '../server-sent-events.ts';
import { singleHeader } from '../single-header.ts';
import { startStream } from '../started-stream.ts';

/** `GET /v1/runs/{id}/events`: the run's events as they happen, and after a break those that were missed. */
export function runEventsRoute(
  app: HttpApp,
  ports: {
    readonly runs: Pick<RunService, 'events'>;
    readonly findRun: FindRun;
    readonly openRequests: OpenRequests;
    readonly clock: Clock;
  },
): void {
  app.get(
    '/runs/:id/events',
    {
      exposeHeadRoute: false,
      config: { access: ACCESS.readRun },
      schema: {
        summary: 'Server-sent events of a run; ends after `run.finished`',
        description:
          'With the header `Last-Event-ID` it goes on after that event. 204: there is nothing after it.',
        tags: ['runs'],
        params: idParams,
        response: {
          200: {
            description: 'Events, each with its number as `id`.',
            content: { 'text/event-stream': { schema: z.string() } },
          },
          204: z.null().meta({ description: 'The run is finished and nothing came after this event.' }),
          ...problems('not_found'),
        },
      },
    },
    async (request, reply) => {
      const afterSeq = lastEventId(request);
      const { id, finishedAt, eventCount } = await ports.findRun(request, request.params.id);
      // Of another run: to go on after it would leave out what this client has never seen.
      if (afterSeq > eventCount) throw notOfThisStream();
      const signal = ports.openRequests.signalOf(reply);
      const source = ports.runs.events({ id, afterSeq, signal });
      // A run in progress may be silent for days: only the source of a finished one is looked into first.
      const started =
        finishedAt === null ? { kind: 'items' as const, items: itemsOf(source) } : await startStream(source);
      // 204 tells an EventSource to stop asking.
      if (started.kind === 'empty') return reply.code(204).send(null);
      const events = serverSentEvents({
        events: started.items,
        clock: ports.clock,
        signal,
        greet: finishedAt === null,
      });
      reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no').type('text/event-stream');
      return reply.send(Readable.from(events) as never);
    },
  );
}

async function* itemsOf<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  yield* source;
}

/** The number of the last event that the client has; 0: none yet. */
function lastEventId(request: FastifyRequest): number {
  const header = singleHeader(request, 'last-event-id');
  if (header.kind === 'absent' || (header.kind === 'value' && header.value === '')) return 0;
  if (header.kind === 'value' && /^\d{1,15}$/.test(header.value)) return Number(header.value);
  throw notOfThisStream();
}

const notOfThisStream = (): CountersignError =>
  new CountersignError('invalid_request', 'Last-Event-ID must be the id of an event of this stream.');
