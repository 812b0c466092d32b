import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { packageRoot } from '../../../src/package-root.ts';
import { programArguments } from '../../support/built-programs.ts';
import { runStatement } from '../../support/run-statement.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

/** A database may hold nothing of a migration that was not committed; the next process goes on from there. */
export async function killInMigrations(
  migratedUrl: string,
  rounds: number,
): Promise<{ readonly tried: number; readonly wrong: readonly string[] }> {
  const names = (await readdir(join(packageRoot, 'migrations')))
    .filter((name) => name.endsWith('.sql'))
    .sort();
  const wrong: string[] = [];
  for (let done = 0; done < rounds; done += names.length) {
    const url = await emptyDatabaseBeside(migratedUrl, done);
    const killedIn = names.slice(0, rounds - done);
    for (const [index, name] of killedIn.entries()) {
      await killIn(url, name, index % 2 === 0 ? 'its last statement' : 'its commit');
      const applied = await appliedIn(url);
      if (applied.join() !== names.slice(0, index).join()) wrong.push(`killed in ${name}: ${applied.join()}`);
    }
    const database = await connectPostgres({ url, listen: false });
    await migrate(database);
    await database.close();
    if ((await appliedIn(url)).join() !== names.join()) wrong.push('the next process did not apply the rest');
    if ((await schemaOf(url)) !== (await schemaOf(migratedUrl))) wrong.push('another schema than in one go');
  }
  return { tried: rounds, wrong };
}

/** Starts a process that migrates, and kills it when this is on its way, which the database then never hears. */
async function killIn(url: string, name: string, moment: 'its last statement' | 'its commit'): Promise<void> {
  let reached = () => {};
  const held = new Promise<void>((resolve) => {
    reached = resolve;
  });
  let noted = false;
  const proxy = await startTcpProxy(url, {
    onSent(text, connection) {
      // Sent as a value alone: what notes a migration is prepared by then.
      const notes = text.includes(name);
      const commits = noted && /commit\0/i.test(text);
      noted ||= notes;
      if (moment === 'its last statement' ? !notes : !commits) return;
      connection.stall();
      reached();
    },
  });
  const child = spawn(process.execPath, [...(await programArguments('migrating')), proxy.url], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = once(child, 'exit');
  const first = await Promise.race([held.then(() => 'held' as const), ended]);
  if (first !== 'held') throw new Error(`The process that migrates ended with ${first[0]}`);
  child.kill('SIGKILL');
  await ended;
  proxy.cutStalled();
  await proxy.stop();
}

async function emptyDatabaseBeside(migratedUrl: string, number: number): Promise<string> {
  const url = new URL(migratedUrl);
  url.pathname = `${url.pathname}_empty_${number}`;
  await runStatement(migratedUrl, `create database ${url.pathname.slice(1)}`);
  return url.toString();
}

async function appliedIn(url: string): Promise<readonly string[]> {
  const [table] = await runStatement<{ name: string | null }>(
    url,
    `select to_regclass('migrations')::text as name`,
  );
  if (table?.name === null) return [];
  const rows = await runStatement<{ name: string }>(url, 'select name from migrations order by name');
  return rows.map(({ name }) => name);
}

/** Columns, constraints, indexes, triggers and functions, as PostgreSQL itself writes them down. */
async function schemaOf(url: string): Promise<string> {
  const rows = await runStatement<{ line: string }>(
    url,
    `select concat_ws(' ', table_name, column_name, data_type, column_default, is_nullable) as line
       from information_schema.columns where table_schema = 'public'
     union all select pg_get_constraintdef(oid) || conname from pg_constraint where connamespace = 'public'::regnamespace
     union all select indexdef from pg_indexes where schemaname = 'public'
     union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
     union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
     order by 1`,
  );
  return rows.map(({ line }) => line).join('\n');
}
