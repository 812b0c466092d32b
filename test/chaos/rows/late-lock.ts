import pg from 'pg';
import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { POLICY, person, startCore } from '../../support/core.ts';
import type { ChaosRow } from '../row.ts';

const SIDE_BY_SIDE = 10;

export const lateLock: ChaosRow = {
  id: 'F3',
  title: 'approve held behind a lock past the deadline',
  volume: { usual: 50, full: 200 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl, poolSize: 20 });
    const blockers = new pg.Pool({ connectionString: databaseUrl, max: SIDE_BY_SIDE });
    const core = startCore(database);
    core.policy = { ...POLICY, decideWithinMs: 150 };
    let letIn = 0;
    let lost = 0;
    const race = async () => {
      const id = await core.pending();
      const blocker = await blockers.connect();
      await blocker.query('begin');
      await blocker.query('select 1 from confirmations where id = $1 for update', [id]);
      const vote = core.service.decide({
        id,
        person: person('li.wei'),
        verdict: 'approve',
        reason: null,
        argsDigest: null,
        surface: { kind: 'api' },
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await blocker.query('commit');
      blocker.release();
      const outcome = await vote;
      const final = await core.service.get(id);
      if (outcome.kind !== 'expired' || final?.status === 'approved') letIn += 1;
      if (final?.status !== 'expired') lost += 1;
    };
    for (let round = 0; round < rounds; round += SIDE_BY_SIDE) {
      await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, rounds - round) }, race));
    }
    await blockers.end();
    core.stop();
    await database.close();
    return {
      tried: rounds,
      lost,
      doubled: 0,
      letIn,
      note: 'the lock was granted after the deadline each time',
    };
  },
};
