import type { Clock } from '../clock.ts';
import { newEventId } from '../ids.ts';

/**
 * One try to use up a grant. A claim whose answer is lost is repeated under the same token, and finds out whether it was
 * made: nobody else can have it.
 */
export interface ClaimAttempt {
  readonly claimant: string;
  /** On the monotonic clock, from before the first claim: the time to send is never longer than the database granted. */
  readonly sinceMs: number;
}

export const newAttempt = (clock: Pick<Clock, 'monotonic'>): ClaimAttempt => ({
  claimant: newEventId(),
  sinceMs: clock.monotonic(),
});
