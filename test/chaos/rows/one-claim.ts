import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { person, startCore } from '../../support/core.ts';
import type { ChaosRow } from '../row.ts';
import { startWorker } from '../worker-process.ts';

export const oneClaim: ChaosRow = {
  id: 'F11',
  title: '32 executors in 2 processes claim one grant',
  volume: { usual: 30, full: 500 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl });
    const core = startCore(database);
    const workers = await Promise.all(Array.from({ length: 2 }, () => startWorker(databaseUrl)));
    let doubled = 0;
    let lost = 0;
    for (let round = 0; round < rounds; round += 1) {
      const id = await core.pending();
      await core.service.decide({
        id,
        person: person('li.wei'),
        verdict: 'approve',
        reason: null,
        argsDigest: null,
        surface: { kind: 'api' },
      });
      const at = Date.now() + 5;
      const answers = await Promise.all(
        workers.map((worker) => worker.run(Array.from({ length: 16 }, () => ({ kind: 'claim', id, at })))),
      );
      const claims = answers.flat().filter((answer) => answer.outcome === 'claimed').length;
      if (claims > 1) doubled += 1;
      if (claims < 1) lost += 1;
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    core.stop();
    await database.close();
    return { tried: rounds, lost, doubled, letIn: 0, note: 'one execution each' };
  },
};
