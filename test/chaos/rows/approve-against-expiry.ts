import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { POLICY, person, startCore } from '../../support/core.ts';
import { closingEvents } from '../closing-events.ts';
import type { ChaosRow } from '../row.ts';

const DEADLINE_MS = 60;
const SIDE_BY_SIDE = 8;

export const approveAgainstExpiry: ChaosRow = {
  id: 'F2',
  title: 'approve against expiry, within 3 ms of the deadline',
  volume: { usual: 300, full: 10_000 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl, poolSize: 20 });
    const core = startCore(database);
    core.policy = { ...POLICY, decideWithinMs: DEADLINE_MS };
    const counts = { approved: 0, expired: 0, lost: 0, doubled: 0, late: 0 };
    // How long before the deadline a vote has to set out to meet it; follows the machine, so that both ends occur.
    let leadMs = 5;

    const race = async (round: number) => {
      const id = await core.pending();
      const decideBy = (await core.service.get(id))?.decideBy.getTime() ?? 0;
      const offsetMs = ((round * 7) % 61) / 10 - 3;
      await new Promise((resolve) =>
        setTimeout(resolve, Math.max(0, decideBy + offsetMs - leadMs - Date.now())),
      );
      const [outcome] = await Promise.all([
        core.service.decide({
          id,
          person: person('li.wei'),
          verdict: 'approve',
          reason: null,
          argsDigest: null,
          surface: { kind: 'api' },
        }),
        core.sweeper.sweep(),
      ]);
      // Nothing is left undecided once the deadline is over.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, decideBy + 5 - Date.now())));
      await core.sweeper.sweep();
      const final = await core.service.get(id);
      if (!final || final.status === 'pending') counts.lost += 1;
      else if (final.status === 'approved') {
        counts.approved += 1;
        leadMs = Math.max(0, leadMs - 0.3);
        if (final.decision.at.getTime() >= decideBy) counts.late += 1;
        if (outcome.kind !== 'recorded') counts.doubled += 1;
      } else {
        counts.expired += 1;
        leadMs = Math.min(50, leadMs + 0.3);
        if (outcome.kind !== 'expired') counts.doubled += 1;
      }
      if ((await closingEvents(database, id)) !== 1) counts.doubled += 1;
    };

    for (let round = 0; round < rounds; round += SIDE_BY_SIDE) {
      const batch = Math.min(SIDE_BY_SIDE, rounds - round);
      await Promise.all(Array.from({ length: batch }, (_, index) => race(round + index)));
    }
    core.stop();
    await database.close();
    const raced = counts.approved > 0 && counts.expired > 0;
    return {
      tried: raced ? rounds : 0,
      lost: counts.lost,
      doubled: counts.doubled,
      letIn: counts.late,
      note: `${counts.approved} approved, ${counts.expired} expired`,
    };
  },
};
