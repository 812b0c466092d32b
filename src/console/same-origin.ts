import type { FastifyRequest } from 'fastify';

/**
 * Whether a form was sent from one of our own pages: by `Sec-Fetch-Site` where the browser says it, else by `Origin`.
 * A request with neither does not come from a form of any browser in use, and is refused with the rest.
 */
export function isSameOrigin(request: FastifyRequest, publicUrl: string | null): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = request.headers;
  if (origin === undefined) return false;
  if (publicUrl !== null && origin === new URL(publicUrl).origin) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

/**
 * Whether the page was opened by a link of another site, such as a chat in the browser. A strict cookie is left out
 * then, even where the person is signed in; a step from our own page brings it along.
 */
export const isFromElsewhere = (request: FastifyRequest): boolean =>
  request.headers['sec-fetch-site'] === 'cross-site';
