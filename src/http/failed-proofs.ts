import type { FastifyRequest } from 'fastify';
import type { HttpApp } from './http-app.ts';

/**
 * Counts wrong keys and wrong signatures per address. For callbacks and API keys the proof is checked first, so that
 * an address that many share (a proxy, an office) never costs an honest caller anything; what is limited is what a
 * failed proof sets off, such as an audit row. A sign-in form asks `verdict` before it looks at the key.
 */
export interface FailedProofs {
  /** Counts one. `limited` once the address had more than its share of the minute. */
  count(request: FastifyRequest): Promise<FailedProofVerdict>;
  /** The same without counting. */
  verdict(request: FastifyRequest): Promise<FailedProofVerdict>;
}

export type FailedProofVerdict =
  | { readonly limited: false }
  | { readonly limited: true; readonly retryAfterSeconds: number };

/** `app` must have `@fastify/rate-limit` registered. */
export function createFailedProofs(app: HttpApp, maxPerMinute: number): FailedProofs {
  const take = app.createRateLimit({ max: maxPerMinute, timeWindow: 60_000 });
  return {
    async count(request) {
      const result = await take(request);
      return !result.isAllowed && result.isExceeded
        ? { limited: true, retryAfterSeconds: result.ttlInSeconds }
        : { limited: false };
    },
    async verdict(request) {
      const result = await take(request, { increment: false });
      return !result.isAllowed && result.remaining === 0
        ? { limited: true, retryAfterSeconds: Math.max(1, result.ttlInSeconds) }
        : { limited: false };
    },
  };
}
