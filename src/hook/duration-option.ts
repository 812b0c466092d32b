import { z } from 'zod';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** An option of a hook that reads `90s`, `15m`, `2h` or `3d`, as everywhere in the configuration; milliseconds. */
export const durationOption = (bounds: { readonly atLeastMs: number; readonly atMostMs: number }) =>
  z.string().transform((text, context) => {
    const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
    const milliseconds = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
    if (milliseconds >= bounds.atLeastMs && milliseconds <= bounds.atMostMs) return milliseconds;
    context.addIssue(
      `has to be a duration like 90s, 15m, 2h or 3d between ${bounds.atLeastMs / 1_000} and ${bounds.atMostMs / 1_000} seconds`,
    );
    return z.NEVER;
  });
