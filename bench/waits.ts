import pg from 'pg';
import { connectPostgres } from '../src/db/connect-postgres.ts';
import { startCore } from '../test/support/core.ts';
import type { BenchRow } from './bench-row.ts';

const WAITS = 10_000;
const WATCH_MS = 6_000;

/** What pending waits cost one process: memory each, and queries a second beside those of a single wait. */
export async function benchWaits(databaseUrl: string): Promise<BenchRow[]> {
  const database = await connectPostgres({ url: databaseUrl });
  const core = startCore(database);
  const controllers: AbortController[] = [];
  const waits: Promise<unknown>[] = [];
  const wait = async () => {
    const id = await core.pending();
    const controller = new AbortController();
    controllers.push(controller);
    waits.push(core.service.wait({ id, timeoutMs: 600_000, signal: controller.signal }));
  };

  await wait();
  const queriesWithOne = await queriesASecond(databaseUrl);
  const before = heapBytes();
  for (let index = 1; index < WAITS; index += 1) await wait();
  const bytesEach = (heapBytes() - before) / WAITS;
  const queriesWithAll = await queriesASecond(databaseUrl);
  for (const controller of controllers) controller.abort();
  await Promise.all(waits);
  core.stop();
  await database.close();
  return [
    {
      name: `memory of a wait, ${WAITS} in one process`,
      value: bytesEach / 1_024,
      unit: 'KiB',
      reference: null,
      referenceName: null,
      ratio: null,
      goal: '≤ 25 KiB',
    },
    {
      name: `transactions a second while ${WAITS} wait`,
      value: queriesWithAll,
      unit: '/s',
      reference: queriesWithOne,
      referenceName: 'while one waits',
      ratio: queriesWithAll / queriesWithOne,
      goal: 'as with one',
    },
  ];
}

function heapBytes(): number {
  if (!globalThis.gc) throw new Error('Run with --expose-gc: memory is measured after a collection.');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** Transactions that the server counts in this database, less the ones that ask and its own vacuuming. */
async function queriesASecond(url: string): Promise<number> {
  const watcher = new pg.Client({ connectionString: url });
  await watcher.connect();
  const count = async () => {
    await watcher.query('select pg_stat_force_next_flush()');
    const { rows } = await watcher.query<{ count: number }>(
      'select xact_commit::int as count from pg_stat_database where datname = current_database()',
    );
    return rows[0]?.count ?? 0;
  };
  // What it does about ten thousand new rows is no query of ours, and comes whenever it comes.
  await watcher.query('alter system set autovacuum = off');
  await watcher.query('select pg_reload_conf()');
  // An idle connection hands in its statistics after ten seconds at the latest; what came before must not count.
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  const before = await count();
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  const after = await count();
  await watcher.end();
  return Math.max(0, after - before - 2) / (WATCH_MS / 1_000);
}
