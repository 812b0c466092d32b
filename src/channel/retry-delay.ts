const FIRST_DELAY_MS = 1_000;
/** Also the longest that a platform may tell us to wait: a wrong header must not silence a card for a day. */
const LONGEST_DELAY_MS = 900_000;

/**
 * How long to wait after one more failure: doubling from one second to a quarter of an hour, with up to half of it
 * taken off by chance, so that the cards of an outage do not all come back in one instant. Never sooner than the
 * platform asked. `random` gives a number from 0 up to 1.
 */
export function retryDelayMs(input: {
  readonly failedAttempts: number;
  readonly retryAfterMs: number | null;
  readonly random: () => number;
}): number {
  const full = Math.min(FIRST_DELAY_MS * 2 ** input.failedAttempts, LONGEST_DELAY_MS);
  const asked = Math.min(Math.max(input.retryAfterMs ?? 0, 0), LONGEST_DELAY_MS);
  return Math.max(full * (1 - input.random() / 2), asked);
}
