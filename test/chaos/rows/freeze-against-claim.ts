import type { ConfirmationRequest } from '../../../src/confirmation/confirmation-request.ts';
import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import type { ConfirmationId } from '../../../src/ids.ts';
import { type Core, person, startCore } from '../../support/core.ts';
import type { ChaosRow } from '../row.ts';
import { startWorker } from '../worker-process.ts';

const GRANTS = 8;
const LI = { id: person('li.wei'), name: 'li.wei' };
const WANG = { id: person('wang.fang'), name: 'wang.fang' };

export const freezeAgainstClaim: ChaosRow = {
  id: 'F26',
  title: 'a freeze begins while 2 processes claim 8 grants',
  volume: { usual: 15, full: 500 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl });
    const core = startCore(database);
    const workers = await Promise.all(Array.from({ length: 2 }, () => startWorker(databaseUrl)));
    let lost = 0;
    let letIn = 0;
    let claimedBefore = 0;
    for (let round = 0; round < rounds; round += 1) {
      const ids = await Promise.all(Array.from({ length: GRANTS }, () => approvedRequest(core)));
      const at = Date.now() + 5;
      const claiming = Promise.all(
        workers.map((worker, index) =>
          worker.run(ids.filter((_, grant) => grant % 2 === index).map((id) => ({ kind: 'claim', id, at }))),
        ),
      );
      await until(at + (round % 12));
      const { id: freeze } = await core.freezes.start({ tools: ['bank__*'], reason: 'chaos', by: LI });
      // Acknowledged: what is claimed now is all that may ever be claimed of these.
      const whenAcknowledged = await states(core, ids);
      await claiming;
      const inTheEnd = await states(core, ids);
      for (const [grant, state] of inTheEnd.entries()) {
        if (state === 'claimed' && whenAcknowledged[grant] !== 'claimed') letIn += 1;
        if (state !== 'claimed' && state !== 'revoked: frozen') lost += 1;
        if (state === 'claimed') claimedBefore += 1;
      }
      await core.freezes.end({ id: freeze, by: LI, mayStill: () => true });
      await core.freezes.end({ id: freeze, by: WANG, mayStill: () => true });
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    core.stop();
    await database.close();
    const tried = rounds * GRANTS;
    return { tried, lost, doubled: 0, letIn, note: `${claimedBefore} claimed before, none after` };
  },
};

async function approvedRequest(core: Core): Promise<ConfirmationId> {
  const id = await core.pending();
  const surface = { kind: 'api' } as const;
  await core.service.decide({
    id,
    person: LI.id,
    verdict: 'approve',
    reason: null,
    argsDigest: null,
    surface,
  });
  return id;
}

const states = (core: Core, ids: readonly ConfirmationId[]): Promise<string[]> =>
  Promise.all(ids.map(async (id) => stateOf(await core.service.get(id))));

function stateOf(request: ConfirmationRequest | null): string {
  if (request?.status !== 'approved') return 'none';
  const { execution } = request;
  return execution.status === 'revoked' ? `revoked: ${execution.detail}` : execution.status;
}

const until = (time: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())));
