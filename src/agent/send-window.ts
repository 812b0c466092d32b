/** How long after it was noted a call that needed no confirmation may still be sent, in milliseconds. */
export const SEND_WITHIN_MS = 10_000;
