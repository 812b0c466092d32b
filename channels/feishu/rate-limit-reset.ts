import type { AxiosResponse } from 'axios';
import { rateLimitWaitMs } from '../../src/channel/rate-limit-wait.ts';

/** How long the gateway wants to be left alone: `x-ogw-ratelimit-reset`, seconds until the limit is lifted. */
export function rateLimitReset({ headers }: AxiosResponse): number {
  const header: unknown = headers['x-ogw-ratelimit-reset'] ?? headers['retry-after'];
  return rateLimitWaitMs(typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : undefined);
}
