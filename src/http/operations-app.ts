import type { AppOptions } from './app-options.ts';
import type { HttpApp } from './http-app.ts';
import { createOtherMethods } from './other-methods.ts';
import { healthRoute, operationsRoutes } from './routes/operations.ts';
import { installSecurityHeaders } from './security-headers.ts';
import { createServer } from './server.ts';

/** `/healthz`, `/readyz` and `/metrics` for a listener of their own (`operations` in the configuration). */
export function createOperationsApp(options: Pick<AppOptions, 'logger' | 'metrics' | 'readiness'>): HttpApp {
  const app = createServer({ logger: options.logger, trustProxy: [] });
  const otherMethods = createOtherMethods(app);
  installSecurityHeaders(app, { https: false });
  healthRoute(app);
  operationsRoutes(app, options);
  app.register(async (routes) => otherMethods(routes));
  return app;
}
