import type { FastifyRequest } from 'fastify';
import { parseJson } from '../confirmation/arguments.ts';
import { CountersignError } from '../errors.ts';
import type { HttpApp } from './http-app.ts';

/** The largest body of any route, in bytes. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Arguments may be 64 levels deep, and sit at most eight levels down, in a plan's node of a loop in a loop. */
const MAX_BODY_DEPTH = 72;

/**
 * Reads JSON bodies without loss: what a person approves must be what the agent sent, digit by digit, so a body that
 * two readers could understand differently (duplicate keys, numbers beyond a double) is refused here, on each route.
 * An empty body stays undefined, and the route's schema says whether that is right.
 */
export function acceptJson(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES },
    async (request: FastifyRequest, body: Buffer) => {
      const charset = /charset *= *"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
      if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
        throw new CountersignError('unsupported_media_type', 'The body must be `application/json` in UTF-8.');
      }
      if (!/^(?:identity)?$/i.test(request.headers['content-encoding'] ?? '')) {
        throw new CountersignError('unsupported_media_type', 'The body must not be compressed.');
      }
      if (body.length === 0) return undefined;
      const parsed = parseJson(decodeUtf8(body), { maxDepth: MAX_BODY_DEPTH });
      if (parsed.kind === 'refused') throw new CountersignError(parsed.code, parsed.message);
      return parsed.value;
    },
  );
}

/** Without replacement characters: two different bodies must not be read as the same text. */
function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new CountersignError('invalid_json', 'The body is not valid UTF-8.');
  }
}
