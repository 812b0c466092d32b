import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectPostgres } from '../src/db/connect-postgres.ts';
import { migrate } from '../src/db/migrate.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { runStatement } from '../test/support/run-statement.ts';
import type { BenchRow } from './bench-row.ts';
import { benchCallbacks } from './callbacks.ts';
import { benchDecisionToResume } from './decision-to-resume.ts';
import { benchDecisions } from './decisions.ts';
import { benchDurableRun } from './durable-run.ts';
import { benchHookDispatch } from './hook-dispatch.ts';
import { benchInvokeTool } from './invoke-tool.ts';
import { benchParkedRun } from './parked-run.ts';
import { benchPolicies } from './policies.ts';
import { benchWaits } from './waits.ts';

// `npm run bench`: every figure beside its reference, measured in this one run; JSON on the last line.
const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
const server = await startPostgres(folder);
const rows: BenchRow[] = [];
try {
  rows.push(...(await benchHookDispatch()));
  rows.push(...benchPolicies());
  rows.push(...(await benchInvokeTool()));
  rows.push(...(await benchDurableRun(await freshDatabase('durable'))));
  rows.push(...(await benchDecisionToResume(await freshDatabase('resume'))));
  rows.push(...(await benchParkedRun(await freshDatabase('parked'))));
  rows.push(...(await benchDecisions(await freshDatabase('decisions'))));
  rows.push(...(await benchCallbacks(await freshDatabase('callbacks'))));
  rows.push(...(await benchWaits(await freshDatabase('waits'))));
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

console.log(`Node ${process.version}, ${cpus().length} cores, PostgreSQL without fsync\n`);
for (const row of rows) console.log(lineOf(row));
console.log(`\n${JSON.stringify(rows)}`);
process.exit(0);

function lineOf(row: BenchRow): string {
  const value = `${row.value.toFixed(2)} ${row.unit}`;
  const reference = row.reference === null ? '' : `; ${row.referenceName}: ${row.reference.toFixed(2)}`;
  const ratio = row.ratio === null ? '' : ` (${row.ratio.toFixed(2)}×)`;
  return `${row.name.padEnd(62)} ${value.padStart(14)}${reference}${ratio}; goal ${row.goal}`;
}

async function freshDatabase(name: string): Promise<string> {
  await runStatement(server.url, `create database bench_${name}`);
  const url = server.url.replace(/\/postgres$/, `/bench_${name}`);
  const database = await connectPostgres({ url });
  await migrate(database);
  await database.close();
  return url;
}
