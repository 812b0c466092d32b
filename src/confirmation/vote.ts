import type { Verdict } from '../verdict.ts';
import type { PersonRef } from './confirmation-request.ts';

/** One person's act. A quorum counts distinct people with an approving vote and no rejecting one. */
export interface Vote {
  readonly person: PersonRef;
  readonly verdict: Verdict;
  readonly reason: string | null;
  /** The channel's id, or `api`. */
  readonly channel: string;
  readonly at: Date;
}
