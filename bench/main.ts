import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectPostgres } from '../src/db/connect-postgres.ts';
import { migrate } from '../src/db/migrate.ts';
import { keepProgramsIn } from '../test/support/built-programs.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { runStatement } from '../test/support/run-statement.ts';
import type { BenchRow } from './bench-row.ts';
import { benchCallbacks } from './callbacks.ts';
import { benchDecisionToResume } from './decision-to-resume.ts';
import { benchDecisions } from './decisions.ts';
import { benchDurableRun } from './durable-run.ts';
import { benchHookDispatch } from './hook-dispatch.ts';
import { benchInvokeTool } from './invoke-tool.ts';
import { benchManyParked } from './many-parked.ts';
import { benchParkedRun } from './parked-run.ts';
import { benchPolicies } from './policies.ts';
import { benchWaits } from './waits.ts';

// `npm run bench`: every figure beside its reference, measured in this one run; JSON on the last line; exit 1 where a
// goal is missed that a loaded machine does not excuse.
// `npm run bench -- decisions callbacks` measures only these.
const BENCHES: Readonly<
  Record<string, (database: () => Promise<string>) => BenchRow[] | Promise<BenchRow[]>>
> = {
  'hook-dispatch': benchHookDispatch,
  policies: benchPolicies,
  'invoke-tool': benchInvokeTool,
  'durable-run': async (database) => benchDurableRun(await database()),
  'decision-to-resume': async (database) => benchDecisionToResume(await database()),
  'parked-run': async (database) => benchParkedRun(await database()),
  'many-parked': async (database) => benchManyParked(await database()),
  decisions: async (database) => benchDecisions(await database()),
  callbacks: async (database) => benchCallbacks(await database()),
  waits: async (database) => benchWaits(await database()),
};
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`No bench is called ${unknown.join(', ')}. There are: ${Object.keys(BENCHES).join(', ')}.`);
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
keepProgramsIn(folder);
const server = await startPostgres(folder);
const rows: BenchRow[] = [];
try {
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    rows.push(...(await bench(() => freshDatabase(name.replaceAll('-', '_')))));
  }
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

console.log(`Node ${process.version}, ${cpus().length} cores, PostgreSQL without fsync\n`);
for (const row of rows) console.log(lineOf(row));
console.log(`\n${JSON.stringify(rows)}`);
process.exit(rows.some(({ met }) => met === false) ? 1 : 0);

function lineOf(row: BenchRow): string {
  const value = `${row.value.toFixed(2)} ${row.unit}`;
  const reference = row.reference === null ? '' : `; ${row.referenceName}: ${row.reference.toFixed(2)}`;
  const ratio = row.ratio === null ? '' : ` (${row.ratio.toFixed(2)}×)`;
  return `${row.name.padEnd(62)} ${value.padStart(14)}${reference}${ratio}; goal ${row.goal}${row.met === false ? ' MISSED' : ''}`;
}

async function freshDatabase(name: string): Promise<string> {
  await runStatement(server.url, `create database bench_${name}`);
  const url = server.url.replace(/\/postgres$/, `/bench_${name}`);
  const database = await connectPostgres({ url });
  await migrate(database);
  await database.close();
  return url;
}
