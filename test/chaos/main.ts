import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import { migrate } from '../../src/db/migrate.ts';
import { keepProgramsIn } from '../support/built-programs.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { runStatement } from '../support/run-statement.ts';
import { type ChaosRow, passed } from './row.ts';
import { CHAOS_ROWS } from './rows/index.ts';

// `npm run chaos [-- F1 F2] [-- --full]`: each row on a database of its own, a line a row; exit 1 when one fails.
const full = process.argv.includes('--full');
const wanted = process.argv.slice(2).filter((argument) => /^F\d+$/.test(argument));
const rows = CHAOS_ROWS.filter((row) => wanted.length === 0 || wanted.includes(row.id));

const folder = await mkdtemp(join(tmpdir(), 'countersign-chaos-'));
keepProgramsIn(folder);
const server = await startPostgres(folder);
let failures = 0;
try {
  for (const row of rows) failures += (await runRow(row)) ? 0 : 1;
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit(failures > 0 ? 1 : 0);

async function runRow(row: ChaosRow): Promise<boolean> {
  const databaseUrl = await freshDatabase(row.id.toLowerCase());
  const rounds = full ? row.volume.full : row.volume.usual;
  const started = performance.now();
  const result = await row.run({ rounds, databaseUrl });
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const verdict = passed(result) ? 'ok  ' : 'FAIL';
  const counts = `tried ${result.tried}, lost ${result.lost}, doubled ${result.doubled}, let in ${result.letIn}`;
  console.log(`${verdict} ${row.id.padEnd(4)} ${row.title}: ${counts}; ${result.note} (${seconds} s)`);
  for (const [what, found] of result.table ?? []) console.log(`          ${what.padEnd(50)}${found}`);
  return passed(result);
}

async function freshDatabase(name: string): Promise<string> {
  await runStatement(server.url, `create database chaos_${name}`);
  const url = server.url.replace(/\/postgres$/, `/chaos_${name}`);
  const database = await connectPostgres({ url });
  await migrate(database);
  await database.close();
  return url;
}
