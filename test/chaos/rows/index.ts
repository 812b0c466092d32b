import type { ChaosRow } from '../row.ts';
import { approveAgainstExpiry } from './approve-against-expiry.ts';
import { changedAfterDisplay } from './changed-after-display.ts';
import { foreignCard } from './foreign-card.ts';
import { forgedFlood } from './forged-flood.ts';
import { forgeries } from './forgeries.ts';
import { freezeAgainstClaim } from './freeze-against-claim.ts';
import { hostileArguments } from './hostile-arguments.ts';
import { hostileContent } from './hostile-content.ts';
import { killedDatabase } from './killed-database.ts';
import { killedRerun } from './killed-rerun.ts';
import { killedService } from './killed-service.ts';
import { lateLock } from './late-lock.ts';
import { lostSignals } from './lost-signals.ts';
import { manyDecided } from './many-decided.ts';
import { oneClaim } from './one-claim.ts';
import { oneWinner } from './one-winner.ts';
import { quorum } from './quorum.ts';
import { refusingChats } from './refusing-chats.ts';
import { refusingDatabase } from './refusing-database.ts';
import { replays } from './replays.ts';
import { restartedDatabase } from './restarted-database.ts';
import { parkedRuns, restartedWaits } from './restarted-waits.ts';
import { spoofedApprover } from './spoofed-approver.ts';
import { squeezedHour } from './squeezed-hour.ts';
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
  changedAfterDisplay,
  oneClaim,
  freezeAgainstClaim,
  refusingChats,
  forgedFlood,
  hostileArguments,
  hostileContent,
  killedService,
  killedRerun,
  killedDatabase,
  restartedDatabase,
  lostSignals,
  refusingDatabase,
  restartedWaits,
  parkedRuns,
  manyDecided,
  squeezedHour,
];
