import { connectPostgres } from '../src/db/connect-postgres.ts';
import type { ConfirmationId } from '../src/ids.ts';
import { person, startCore } from '../test/support/core.ts';
import { type BenchRow, quantile } from './bench-row.ts';

const DECISIONS = 4_000;
/** Made before the clock starts, so that what is measured is what a service sustains, not its first seconds. */
const WARM_UP = 2_000;
const SIDE_BY_SIDE = 16;

/** Whole decisions (lock, vote, decision, audit, notification) a second through one process on PostgreSQL. */
export async function benchDecisions(databaseUrl: string): Promise<BenchRow[]> {
  const database = await connectPostgres({ url: databaseUrl, poolSize: SIDE_BY_SIDE });
  const core = startCore(database);
  const ids: ConfirmationId[] = [];
  for (let index = 0; index < WARM_UP + DECISIONS; index += 1) ids.push(await core.pending());
  const decideAll = async (queue: ConfirmationId[], times: number[]) => {
    const worker = async () => {
      for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
        const begun = performance.now();
        await core.service.decide({
          id,
          person: person('li.wei'),
          verdict: 'approve',
          reason: null,
          argsDigest: null,
          surface: { kind: 'api' },
        });
        times.push(performance.now() - begun);
      }
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  };
  await decideAll(ids.splice(0, WARM_UP), []);
  const times: number[] = [];
  const started = performance.now();
  await decideAll(ids, times);
  const seconds = (performance.now() - started) / 1_000;
  core.stop();
  await database.close();
  return [
    {
      name: `decisions a second, ${SIDE_BY_SIDE} at a time`,
      value: DECISIONS / seconds,
      unit: '/s',
      reference: null,
      referenceName: null,
      ratio: null,
      goal: '≥ 500',
    },
    {
      name: 'one decision among them, p99',
      value: quantile(times, 0.99),
      unit: 'ms',
      reference: quantile(times, 0.5),
      referenceName: 'p50',
      ratio: quantile(times, 0.99) / quantile(times, 0.5),
      goal: '≤ 100 ms',
    },
  ];
}
