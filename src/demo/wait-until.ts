import { sleep, systemClock } from '../clock.ts';

/**
 * Asks `condition` until it gives something other than null or false. Throws after `deadlineMs` (10 s by default),
 * saying what was waited for.
 */
export async function waitUntil<T>(
  what: string,
  condition: () => T | null | false | undefined | Promise<T | null | false | undefined>,
  deadlineMs = 10_000,
): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const value = await condition();
    if (value !== null && value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`waited ${deadlineMs / 1000} s in vain until ${what}`);
    await sleep(systemClock, 50);
  }
}
