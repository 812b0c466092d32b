import type { HTTPMethods } from 'fastify';
import { CountersignError } from '../errors.ts';
import type { HttpApp } from './http-app.ts';

const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Takes down the addresses of `app`, and gives what answers the methods that an address does not take: 405, and in
 * `allow` those that it does (RFC 9110, 15.5.6). That comes before authentication and before any body is read. Call
 * this before the first route, and what it gives after the last.
 */
export function createOtherMethods(app: HttpApp): (routes: HttpApp) => void {
  const urls = new Set<string>();
  app.addHook('onRoute', ({ url }) => void urls.add(url));
  return (routes) => {
    for (const url of [...urls]) refuseOthers(routes, url);
  };
}

function refuseOthers(routes: HttpApp, url: string): void {
  const taken = METHODS.filter((method) => routes.hasRoute({ method, url }));
  const allow = taken.join(', ');
  const refusal = new CountersignError('method_not_allowed', `Here only ${allow} is answered.`);
  routes.route({
    method: METHODS.filter((method) => !taken.includes(method)),
    url,
    schema: { hide: true },
    onRequest: async (_request, reply) => {
      reply.header('allow', allow);
      throw refusal;
    },
    handler: async () => undefined,
  });
}
