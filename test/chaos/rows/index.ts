import type { ChaosRow } from '../row.ts';
import { approveAgainstExpiry } from './approve-against-expiry.ts';
import { foreignCard } from './foreign-card.ts';
import { forgedFlood } from './forged-flood.ts';
import { forgeries } from './forgeries.ts';
import { hostileArguments } from './hostile-arguments.ts';
import { hostileContent } from './hostile-content.ts';
import { lateLock } from './late-lock.ts';
import { oneClaim } from './one-claim.ts';
import { oneWinner } from './one-winner.ts';
import { quorum } from './quorum.ts';
import { replays } from './replays.ts';
import { spoofedApprover } from './spoofed-approver.ts';
import { threeWays } from './three-ways.ts';

/** The fault table, in the order it is run. */
export const CHAOS_ROWS: readonly ChaosRow[] = [
  oneWinner,
  approveAgainstExpiry,
  lateLock,
  threeWays,
  quorum,
  replays,
  forgeries,
  spoofedApprover,
  foreignCard,
  oneClaim,
  forgedFlood,
  hostileArguments,
  hostileContent,
];
