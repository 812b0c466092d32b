import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { POLICY, startCore, voters } from '../../support/core.ts';
import { closingEvents } from '../closing-events.ts';
import type { ChaosRow } from '../row.ts';
import { startWorker, type WorkerCommand } from '../worker-process.ts';

const PROCESSES = 4;
const PEOPLE_PER_PROCESS = 16;

export const oneWinner: ChaosRow = {
  id: 'F1',
  title: '64 approvers on one request, approve and reject mixed, from 4 processes',
  volume: { usual: 30, full: 1_000 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl });
    const core = startCore(database);
    core.policy = { ...POLICY, approvers: voters(PROCESSES * PEOPLE_PER_PROCESS) };
    const workers = await Promise.all(Array.from({ length: PROCESSES }, () => startWorker(databaseUrl)));
    let doubled = 0;
    let lost = 0;
    let letIn = 0;
    for (let round = 0; round < rounds; round += 1) {
      const id = await core.pending();
      const at = Date.now() + 10;
      const command = (process: number, index: number): WorkerCommand => ({
        kind: 'vote',
        id,
        at,
        person: `voter-${process * PEOPLE_PER_PROCESS + index}`,
        verdict: (index + round) % 2 === 0 ? 'approve' : 'reject',
      });
      const answers = (
        await Promise.all(
          workers.map((worker, process) =>
            worker.run(Array.from({ length: PEOPLE_PER_PROCESS }, (_, index) => command(process, index))),
          ),
        )
      ).flat();
      const winners = answers.filter((answer) => answer.outcome === 'recorded');
      const final = await core.service.get(id);
      if (winners.length !== 1 || (await closingEvents(database, id)) !== 1) doubled += 1;
      if (!final || final.status === 'pending') lost += 1;
      else {
        const by = final.decision.by?.id;
        const misled = answers.filter(
          (answer) =>
            answer.status !== final.status ||
            answer.by !== by ||
            !['recorded', 'already-decided'].includes(answer.outcome),
        );
        if (misled.length > 0) letIn += 1;
      }
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    core.stop();
    await database.close();
    return { tried: rounds, lost, doubled, letIn, note: 'every loser was told who won' };
  },
};
