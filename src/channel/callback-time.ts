/** How a platform writes, in seconds, when it signed a callback: nothing else is taken for a time. */
export const CALLBACK_TIMESTAMP = /^\d{10}$/;

/** How far a callback's timestamp may lie from our clock, either way. */
const MOST_SKEW_SECONDS = 300;

/** Whether a callback was signed just now; `timestamp` has the shape above. */
export const isFresh = (timestamp: string, nowMs: number): boolean =>
  Math.abs(nowMs / 1000 - Number(timestamp)) <= MOST_SKEW_SECONDS;
