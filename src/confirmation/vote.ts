import type { Verdict } from '../verdict.ts';
import type { PersonRef } from './confirmation-request.ts';

/** One person's act. A quorum counts distinct people, and distinct seats, with an approving vote and no rejecting one. */
export interface Vote {
  readonly person: PersonRef;
  /** Whose seat it fills: the person's own, or that of somebody for whom they stand in. */
  readonly seat: PersonRef;
  readonly verdict: Verdict;
  readonly reason: string | null;
  /** The channel's id, or `api`. */
  readonly channel: string;
  readonly at: Date;
}
