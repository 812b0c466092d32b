import type { FastifyRequest } from 'fastify';
import { CountersignError } from '../errors.ts';
import { type Access, assertAccess } from './access.ts';
import type { Authenticator } from './authenticator.ts';
import type { FailedProofs } from './failed-proofs.ts';
import type { HttpApp } from './http-app.ts';
import type { Principal } from './principal.ts';
import { singleHeader } from './single-header.ts';

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    /** Who may call this route. Under `/v1` there is no route without. */
    access?: Access;
  }
}

/**
 * Puts authentication and the route's access rule before everything else on each route of this scope, the body
 * included. A route that forgets to say who may call it stops the start.
 */
export function requireAuthentication(
  app: HttpApp,
  {
    authenticator,
    failedProofs,
  }: { readonly authenticator: Authenticator; readonly failedProofs: FailedProofs },
): void {
  app.decorateRequest('principal', null);
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (!config?.access) throw new Error(`Route ${String(method)} ${url} does not say who may call it`);
    if (schema) schema.security = [{ key: [] }];
  });
  app.addHook('onRequest', async (request, reply) => {
    const principal = authenticate(request, authenticator);
    if (!principal) {
      const verdict = await failedProofs.count(request);
      if (verdict.limited) {
        reply.header('retry-after', verdict.retryAfterSeconds);
        throw new CountersignError('too_many_requests', 'Too many wrong keys from this address.', {
          retryAfter: verdict.retryAfterSeconds,
        });
      }
      reply.header('www-authenticate', 'Bearer realm="countersign"');
      throw new CountersignError('unauthenticated', 'No known key in the `Authorization` header.');
    }
    const access = request.routeOptions.config.access;
    if (!access) throw new Error('The route does not say who may call it');
    request.principal = principal;
    assertAccess(principal, access);
  });
}

/** The principal of a route behind `requireAuthentication`. */
export function principalOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error('The route is not behind authentication');
  return request.principal;
}

/** Whose key the request carries in `Authorization: Bearer`; null where there is none, or no known one. */
export function authenticate(request: FastifyRequest, authenticator: Authenticator): Principal | null {
  const header = singleHeader(request, 'authorization');
  if (header.kind !== 'value') return null;
  const key = /^Bearer +([^\s]+) *$/i.exec(header.value)?.[1];
  return key === undefined ? null : authenticator.principalOf(key);
}
