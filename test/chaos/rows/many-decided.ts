import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import type { ConfirmationId } from '../../../src/ids.ts';
import { person, startCore } from '../../support/core.ts';
import type { ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';

const RELEASED_WITHIN_MS = 5_000;

export const manyDecided: ChaosRow = {
  id: 'F25',
  title: 'all pending requests decided at once by another process',
  volume: { usual: 300, full: 10_000 },
  async run({ databaseUrl, rounds }) {
    const here = await connectPostgres({ url: databaseUrl });
    const elsewhere = await connectPostgres({ url: databaseUrl, listen: false });
    const [waiting, deciding] = [startCore(here), startCore(elsewhere)];
    const ids = await sideBySide(rounds, () => deciding.pending());
    const decidedAt = new Map<ConfirmationId, number>();
    let lost = 0;
    let slowestMs = 0;
    const wait = async (id: ConfirmationId, index: number) => {
      const signal = new AbortController().signal;
      const request = await waiting.service.wait({ id, timeoutMs: 600_000, signal });
      const latencyMs = performance.now() - (decidedAt.get(id) ?? Number.NaN);
      slowestMs = Math.max(slowestMs, latencyMs);
      if (request?.status !== expected(index) || !(latencyMs <= RELEASED_WITHIN_MS)) lost += 1;
    };
    const waits: Promise<void>[] = [];
    // No faster than their first reads are answered.
    await sideBySide(rounds, async (index) => {
      const id = ids[index] as ConfirmationId;
      waits.push(wait(id, index));
      await waiting.service.get(id);
    });

    const begunAt = performance.now();
    await sideBySide(rounds, async (index) => {
      const id = ids[index] as ConfirmationId;
      decidedAt.set(id, performance.now());
      await deciding.service.decide({
        id,
        person: person('li.wei'),
        verdict: expected(index) === 'approved' ? 'approve' : 'reject',
        reason: 'as agreed',
        argsDigest: null,
        surface: { kind: 'api' },
      });
    });
    const decidedInMs = performance.now() - begunAt;
    await Promise.all(waits);
    for (const core of [waiting, deciding]) core.stop();
    await Promise.all([here.close(), elsewhere.close()]);
    const left = waiting.waiter.size;
    return {
      tried: rounds,
      lost,
      doubled: left,
      letIn: 0,
      note: `decided in ${Math.round(decidedInMs)} ms, slowest waiter ${Math.round(slowestMs)} ms`,
    };
  },
};

const expected = (index: number) => (index % 2 === 0 ? 'approved' : 'rejected');
