import rateLimit from '@fastify/rate-limit';
import { consoleRoutes } from '../console/console-routes.ts';
import type { AppOptions } from './app-options.ts';
import { requireAuthentication } from './authentication.ts';
import { createAuthenticator } from './authenticator.ts';
import { createConfirmationAccess } from './confirmation-access.ts';
import { createFailedProofs } from './failed-proofs.ts';
import type { HttpApp } from './http-app.ts';
import { acceptJson } from './json-body.ts';
import { createOpenRequests } from './open-requests.ts';
import { installOpenApi, openApiRoutes } from './openapi.ts';
import { createOtherMethods } from './other-methods.ts';
import { installRequestLog } from './request-log.ts';
import { askRoute } from './routes/ask.ts';
import { auditRoutes } from './routes/audit.ts';
import { callbackRoute } from './routes/callbacks.ts';
import { cardsRoute } from './routes/cards.ts';
import { decideRoutes } from './routes/decide.ts';
import { executionRoutes } from './routes/execution.ts';
import { explainRoute } from './routes/explain.ts';
import { freezeRoutes } from './routes/freezes.ts';
import { healthRoute, operationsRoutes } from './routes/operations.ts';
import { readConfirmationRoutes } from './routes/read-confirmations.ts';
import { readOnlyRoutes } from './routes/read-only.ts';
import { runEventsRoute } from './routes/run-events.ts';
import { runRoutes } from './routes/runs.ts';
import { settlementRoute } from './routes/settlement.ts';
import { createFindRun } from './run-access.ts';
import { installSecurityHeaders } from './security-headers.ts';
import { createServer } from './server.ts';
import { createToolNameCheck } from './tool-name-check.ts';
import { createVisibility } from './visibility.ts';

/** Failed proofs per address and minute that are answered 401: mistakes are far below this, guesses far above. */
const FAILED_PROOFS_PER_MINUTE = 600;
/** Those that also leave an audit row and a line in the log. */
const RECORDED_FAILURES_PER_MINUTE = 60;
const FAILED_SIGN_INS_PER_MINUTE = 10;

/** The whole HTTP surface. It listens nowhere yet: `listen` or `inject` it, and `close` it. */
export function createApp(options: AppOptions): HttpApp {
  const { config, logger, metrics } = options;
  const app = createServer({ logger, trustProxy: config.trustProxy });
  const otherMethods = createOtherMethods(app);
  installRequestLog(app, metrics);
  installSecurityHeaders(app, { https: config.publicUrl?.startsWith('https:') ?? false });
  app.register(rateLimit, { global: false });
  installOpenApi(app);
  // Only inside a plugin are the decorators of those above there.
  app.register(async (routes) => registerRoutes(routes, options));
  app.register(async (routes) => otherMethods(routes));
  return app;
}

function registerRoutes(app: HttpApp, options: AppOptions): void {
  const { config, confirmations, runs, metrics } = options;
  const authenticator = createAuthenticator(config);
  const visibility = createVisibility({ confirmations, runs, agents: config.agents });
  const openRequests = createOpenRequests(app);

  app.register(
    async (v1) => {
      const failedProofs = createFailedProofs(v1, FAILED_PROOFS_PER_MINUTE);
      requireAuthentication(v1, { authenticator, failedProofs });
      acceptJson(v1);
      v1.addHook('onSend', async (_request, reply) => {
        reply.header('cache-control', 'no-store');
      });
      const ports = {
        ...options,
        openRequests,
        access: createConfirmationAccess({ confirmations, visibility, freezes: options.freezes }),
        findRun: createFindRun(runs, visibility),
      };
      askRoute(v1, ports);
      readConfirmationRoutes(v1, ports);
      explainRoute(v1, ports);
      cardsRoute(v1, ports);
      executionRoutes(v1, ports);
      decideRoutes(v1, ports);
      settlementRoute(v1, ports);
      runRoutes(v1, ports);
      runEventsRoute(v1, ports);
      auditRoutes(v1, ports);
      readOnlyRoutes(v1, { ...ports, connectors: new Set(config.connectors.map(({ id }) => id)) });
      freezeRoutes(v1, {
        freezes: options.freezes,
        refusals: options.refusals,
        matchesTools: createToolNameCheck(config),
        rolesOf: (person) => config.people.find(({ id, active }) => active && id === person)?.roles ?? [],
      });
    },
    { prefix: '/v1' },
  );
  app.register(async (callbacks) =>
    callbackRoute(callbacks, {
      ...options,
      failedProofs: createFailedProofs(callbacks, FAILED_PROOFS_PER_MINUTE),
      recordedFailures: createFailedProofs(callbacks, RECORDED_FAILURES_PER_MINUTE),
    }),
  );
  app.register(async (pages) =>
    consoleRoutes(pages, {
      ...options,
      authenticator,
      visibility,
      adviceOn: (channel, error) => options.channels.get(channel)?.advise?.(error) ?? null,
      failedSignIns: createFailedProofs(pages, FAILED_SIGN_INS_PER_MINUTE),
    }),
  );
  healthRoute(app);
  if (!config.operations) operationsRoutes(app, { readiness: options.readiness, metrics });
  openApiRoutes(app);
}
