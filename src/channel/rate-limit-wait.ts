/** Where a platform is busy and does not say for how long. */
const UNSAID_MS = 5_000;
/** A longer wait is not believed: the next attempt finds out, and no answer can park a card. */
const LONGEST_MS = 300_000;

/** How long to wait for a platform that limits the rate; `seconds` is what it asked for, where that could be read. */
export const rateLimitWaitMs = (seconds: number | undefined): number =>
  seconds === undefined ? UNSAID_MS : Math.min(seconds * 1_000, LONGEST_MS);
