import type { ConfirmationRequest } from '../../../src/confirmation/confirmation-request.ts';
import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { POLICY, person, startCore } from '../../support/core.ts';
import { closingEvents } from '../closing-events.ts';
import type { ChaosRow } from '../row.ts';
import { startWorker, type WorkerCommand } from '../worker-process.ts';

const CHANNELS = ['pay-slack', 'pay-feishu'];

export const quorum: ChaosRow = {
  id: 'F5',
  title:
    'quorum 2 of 3: one person 50 times from Slack and Feishu beside their delegate, then two people at once',
  volume: { usual: 30, full: 1_000 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl });
    const core = startCore(database);
    core.policy = { ...POLICY, quorum: 2, approvers: ['li.wei', 'wang.fang', 'chen.jie'].map(person) };
    // Both are away, with delegates who have no seat of their own, and may come back to vote themselves.
    for (const [who, delegate] of [
      ['li.wei', 'voter-1'],
      ['chen.jie', 'voter-0'],
    ] as const)
      core.absences.set(who, { from: null, until: null, delegate: person(delegate) });
    const workers = await Promise.all(Array.from({ length: 2 }, () => startWorker(databaseUrl)));
    let letIn = 0;
    let lost = 0;
    let doubled = 0;
    for (let round = 0; round < rounds; round += 1) {
      const id = await core.pending();
      const approve = (who: string, at: number, channel?: string): WorkerCommand => ({
        kind: 'vote',
        id,
        at,
        person: who,
        verdict: 'approve',
        ...(channel === undefined ? {} : { channel }),
      });
      const soon = Date.now() + 5;
      const taps = CHANNELS.map((channel) =>
        Array.from({ length: 25 }, () => approve('li.wei', soon, channel)),
      );
      await Promise.all(
        workers.map((worker, index) => worker.run([...(taps[index] ?? []), approve('voter-1', soon)])),
      );
      const afterOne = await core.service.get(id);
      // One seat, whoever of the two was first.
      if (afterOne?.status !== 'pending' || seatsWithApproval(afterOne) !== 1) letIn += 1;
      const then = Date.now() + 5;
      await Promise.all([
        workers[0]?.run([approve('wang.fang', then), approve('chen.jie', then)]),
        workers[1]?.run([approve('voter-0', then, 'pay-slack'), approve('voter-0', then, 'pay-feishu')]),
      ]);
      const final = await core.service.get(id);
      if (final?.status !== 'approved') lost += 1;
      if (final !== null && (peopleApproving(final) !== 2 || seatsWithApproval(final) !== 2)) letIn += 1;
      if ((await closingEvents(database, id)) !== 1) doubled += 1;
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    core.stop();
    await database.close();
    return {
      tried: rounds,
      lost,
      doubled,
      letIn,
      note: 'closed once, with two distinct people on two seats',
    };
  },
};

const approving = ({ votes }: ConfirmationRequest) => votes.filter(({ verdict }) => verdict === 'approve');
const peopleApproving = (request: ConfirmationRequest): number =>
  new Set(approving(request).map(({ person: { id } }) => id)).size;
const seatsWithApproval = (request: ConfirmationRequest): number =>
  new Set(approving(request).map(({ seat }) => seat.id)).size;
