import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { CountersignError } from '../errors.ts';
import { drainConnections } from './drain-connections.ts';
import { answerBrokenRequest, installErrorHandling, sendProblem } from './error-handling.ts';
import type { HttpApp } from './http-app.ts';
import { MAX_BODY_BYTES } from './json-body.ts';

/** A server without routes: limits, zod for what comes in, problems for whatever goes wrong. */
export function createServer({
  logger,
  trustProxy,
}: {
  readonly logger: FastifyBaseLogger;
  readonly trustProxy: readonly string[];
}): HttpApp {
  const app = Fastify({
    loggerInstance: logger,
    // One line a request comes from `request-log.ts`; the framework's own would carry addresses and queries.
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    bodyLimit: MAX_BODY_BYTES,
    // A client that sends its request slower than this is cut off; answers may take as long as they like.
    requestTimeout: 30_000,
    // While it stops, what is already connected is still served: callbacks in flight commit.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 200 },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, _request, reply) =>
      void sendProblem(reply, new CountersignError('invalid_request', error.message)),
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  // Answers are checked against their schemas when this is compiled. At run time a schema that is wrong about its
  // answer must not turn a committed decision into a 500.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  installErrorHandling(app);
  drainConnections(app);
  return app;
}
