import type { Registry } from 'prom-client';
import { z } from 'zod';
import type { HttpApp } from '../http-app.ts';
import { loggedFault } from '../logged-fault.ts';
import type { Readiness, ReadinessCheck } from '../readiness.ts';

const readyAnswer = z.object({
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ready: z.boolean(), detail: z.string() })),
});

/** `GET /healthz`: this process answers. It asks nothing else, so a database that is away does not get it killed. */
export function healthRoute(app: HttpApp): void {
  app.get(
    '/healthz',
    {
      schema: {
        summary: 'Alive',
        tags: ['operations'],
        response: { 200: z.object({ status: z.literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' as const }),
  );
}

/** `GET /readyz` and `/metrics`, for the operations network. */
export function operationsRoutes(
  app: HttpApp,
  ports: { readonly readiness: Readiness; readonly metrics: Registry },
): void {
  app.get(
    '/readyz',
    {
      schema: {
        summary: 'Ready: database, migrations, each channel',
        tags: ['operations'],
        response: { 200: readyAnswer, 503: readyAnswer },
      },
    },
    async (request, reply) => {
      const checks = await ports.readiness.check().catch((error: unknown): ReadinessCheck[] => {
        request.log.error({ fault: loggedFault(error) }, 'readiness could not be checked');
        return [{ name: 'readiness', ready: false, detail: 'could not be checked; see the log' }];
      });
      const ready = checks.every((check) => check.ready);
      return reply.code(ready ? 200 : 503).send({ ready, checks: checks.map((check) => ({ ...check })) });
    },
  );

  app.get(
    '/metrics',
    {
      schema: {
        summary: 'Measurements in the Prometheus text format',
        tags: ['operations'],
        response: {
          200: { description: 'Prometheus text.', content: { 'text/plain': { schema: z.string() } } },
        },
      },
    },
    async (_request, reply) => {
      const text = await ports.metrics.metrics();
      return reply.header('content-type', ports.metrics.contentType).send(text);
    },
  );
}
