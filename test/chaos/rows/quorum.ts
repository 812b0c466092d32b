import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { POLICY, person, startCore } from '../../support/core.ts';
import { closingEvents } from '../closing-events.ts';
import type { ChaosRow } from '../row.ts';
import { startWorker, type WorkerCommand } from '../worker-process.ts';

export const quorum: ChaosRow = {
  id: 'F5',
  title: 'quorum 2 of 3: one person 50 times from two processes, then two people at once',
  volume: { usual: 100, full: 1_000 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl });
    const core = startCore(database);
    core.policy = { ...POLICY, quorum: 2, approvers: ['li.wei', 'wang.fang', 'chen.jie'].map(person) };
    const workers = await Promise.all(Array.from({ length: 2 }, () => startWorker(databaseUrl)));
    let letIn = 0;
    let lost = 0;
    let doubled = 0;
    for (let round = 0; round < rounds; round += 1) {
      const id = await core.pending();
      const approve = (who: string, at: number): WorkerCommand => ({
        kind: 'vote',
        id,
        at,
        person: who,
        verdict: 'approve',
      });
      const soon = Date.now() + 5;
      await Promise.all(
        workers.map((worker) => worker.run(Array.from({ length: 25 }, () => approve('li.wei', soon)))),
      );
      const afterOne = await core.service.get(id);
      if (afterOne?.status !== 'pending' || afterOne.votes.length !== 1) letIn += 1;
      const then = Date.now() + 5;
      await Promise.all([
        workers[0]?.run([approve('wang.fang', then)]),
        workers[1]?.run([approve('chen.jie', then)]),
      ]);
      const final = await core.service.get(id);
      if (final?.status !== 'approved') lost += 1;
      if (new Set(final?.votes.map((vote) => vote.person.id)).size !== 2) letIn += 1;
      if ((await closingEvents(database, id)) !== 1) doubled += 1;
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    core.stop();
    await database.close();
    return { tried: rounds, lost, doubled, letIn, note: 'closed once, with two distinct people' };
  },
};
