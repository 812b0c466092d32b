import { z } from 'zod';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `15m`, `2h` or `3d` in milliseconds; NaN for anything else. */
export function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN);
}

/**
 * An option that is a duration, as everywhere in the configuration. It stays the text it was: options are checked when
 * the configuration is read and again when the hook is built, and have to pass both times.
 */
export const durationOption = (atLeast: string, atMost: string) =>
  z
    .string()
    .refine(
      (text) => durationMs(text) >= durationMs(atLeast) && durationMs(text) <= durationMs(atMost),
      `has to be a duration like 90s, 15m, 2h or 3d, from ${atLeast} to ${atMost}`,
    );
