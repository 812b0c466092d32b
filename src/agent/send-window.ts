import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';

/** How long after it was noted a call that needed no confirmation may still be sent, in milliseconds. */
export const SEND_WITHIN_MS = 10_000;

/** The detail of an outcome `failed` of a grant that was claimed and then certainly not used. */
export const NOT_SENT = 'not sent';

/** How long after the claim the call may be sent; both times are the database's, so clocks need not agree. */
export function sendWindowMs(request: ConfirmationRequest, sendBy: Date): number {
  if (request.status !== 'approved' || request.execution.status !== 'claimed') return 0;
  return sendBy.getTime() - request.execution.at.getTime();
}
