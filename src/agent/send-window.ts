/** How long after it was noted a call that needed no confirmation may still be sent, in milliseconds. */
export const SEND_WITHIN_MS = 10_000;

/** The detail of an outcome `failed` of a grant that was claimed and then certainly not used. */
export const NOT_SENT = 'not sent';
