import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryDelayMs } from '../../src/channel/retry-delay.ts';

describe('the delay before a retry', () => {
  it('doubles from a second to a quarter of an hour, less up to half of it', () => {
    const longest = (failedAttempts: number) =>
      retryDelayMs({ failedAttempts, retryAfterMs: null, random: () => 0 });
    expect([0, 1, 2, 9, 10, 99, 100_000].map(longest)).toEqual([
      1_000, 2_000, 4_000, 512_000, 900_000, 900_000, 900_000,
    ]);
    expect(retryDelayMs({ failedAttempts: 2, retryAfterMs: null, random: () => 0.5 })).toBe(3_000);
  });

  it('is never shorter than the platform asked for, nor longer than a quarter of an hour', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 200 }),
        fc.option(fc.oneof(fc.integer(), fc.constant(Number.POSITIVE_INFINITY))),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failedAttempts, retryAfterMs, random) => {
          const delay = retryDelayMs({ failedAttempts, retryAfterMs, random: () => random });
          expect(delay).toBeGreaterThanOrEqual(Math.min(Math.max(retryAfterMs ?? 0, 500), 900_000));
          expect(delay).toBeLessThanOrEqual(900_000);
        },
      ),
    );
  });
});
