import { z } from 'zod';

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(\d{1,9})([smhd])$/;

/** `90s`, `15m`, `2h`, `3d` in milliseconds; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = DURATION.exec(text) ?? [];
  return count === undefined ? null : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/** A setting that is a duration: at least a second (with `orNothing`, also `0s`), at most `longest`. Comes out in milliseconds. */
export function duration(longest: string, { orNothing = false }: { readonly orNothing?: boolean } = {}) {
  const longestMs = parseDuration(longest);
  if (longestMs === null) throw new Error(`Not a duration: ${longest}`);
  return z.string().transform((text, context) => {
    const milliseconds = parseDuration(text);
    if (milliseconds === null) context.addIssue('has to be a duration like 90s, 15m, 2h or 3d');
    else if (milliseconds === 0 && !orNothing) context.addIssue('has to be more than nothing');
    else if (milliseconds > longestMs) context.addIssue(`has to be at most ${longest}`);
    else return milliseconds;
    return z.NEVER;
  });
}
