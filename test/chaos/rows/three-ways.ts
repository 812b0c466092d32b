import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { startCore } from '../../support/core.ts';
import { closingEvents } from '../closing-events.ts';
import type { ChaosRow } from '../row.ts';
import { startWorker } from '../worker-process.ts';

export const threeWays: ChaosRow = {
  id: 'F4',
  title: 'approve, reject and cancel at once, from 3 processes',
  volume: { usual: 60, full: 5_000 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl });
    const core = startCore(database);
    const workers = await Promise.all(Array.from({ length: 3 }, () => startWorker(databaseUrl)));
    const ends: Record<string, number> = {};
    let doubled = 0;
    let lost = 0;
    for (let round = 0; round < rounds; round += 1) {
      const id = await core.pending();
      const at = Date.now() + 5;
      await Promise.all([
        workers[0]?.run([{ kind: 'vote', id, at, person: 'li.wei', verdict: 'approve' }]),
        workers[1]?.run([{ kind: 'vote', id, at, person: 'wang.fang', verdict: 'reject' }]),
        workers[2]?.run([{ kind: 'cancel', id, at }]),
      ]);
      const final = await core.service.get(id);
      if (!final || final.status === 'pending') lost += 1;
      else {
        const end = final.status === 'approved' ? `approved/${final.execution.status}` : final.status;
        ends[end] = (ends[end] ?? 0) + 1;
      }
      if ((await closingEvents(database, id)) !== 1) doubled += 1;
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    core.stop();
    await database.close();
    const note = Object.entries(ends)
      .map(([end, count]) => `${count} ${end}`)
      .join(', ');
    return { tried: rounds, lost, doubled, letIn: 0, note };
  },
};
