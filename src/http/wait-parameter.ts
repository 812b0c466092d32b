import { z } from 'zod';

/** No wait holds an answer longer; more is cut to this. */
export const LONGEST_WAIT_MS = 60_000;

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `wait=30s`: how long the answer may be held, in milliseconds, at most a minute. */
export const waitParameter = z
  .string()
  .regex(/^\d{1,9}(ms|s|m|h|d)$/, 'must be a duration such as `30s`')
  .transform((text) => {
    const [, count = '0', unit = 's'] = /^(\d+)(\D+)$/.exec(text) ?? [];
    return Math.min(Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS], LONGEST_WAIT_MS);
  })
  .meta({ description: 'Hold the answer until something happened; at most 60s.', examples: ['30s'] });
