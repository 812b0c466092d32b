import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { packageRoot } from '../package-root.ts';
import type { Database } from './database.ts';
import { rowsOf } from './rows-of.ts';

/** Two services that start at once take turns under this advisory lock. */
const MIGRATION_LOCK = 0x636f756e;

/**
 * Brings the database to this code's version, one transaction a migration. Throws when the database was migrated by
 * newer code: older code must not write into it.
 */
export async function migrate(database: Database): Promise<{ readonly applied: readonly string[] }> {
  const known = await knownMigrations();
  const applied: string[] = [];
  for (;;) {
    const next = await database.transaction(async (connection) => {
      // Another service's migration is waited for, however long; a table that is in use is not: the wait for its lock
      // would hold up everybody who comes after.
      await connection.execute(sql`set local lock_timeout = 0`);
      await connection.execute(sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      await connection.execute(sql`set local lock_timeout = '2s'`);
      await connection.execute(
        sql`create table if not exists migrations (name text primary key, at timestamptz not null default now())`,
      );
      const done = new Set(await appliedMigrations(connection));
      const newer = [...done].filter((name) => !known.includes(name));
      if (newer.length > 0) {
        throw new Error(
          `The database was migrated by a newer Countersign (${newer.join(', ')}). Start that version, or restore a backup.`,
        );
      }
      const name = known.find((candidate) => !done.has(candidate));
      if (!name) return null;
      const text = await readFile(join(packageRoot, 'migrations', name), 'utf8');
      for (const statement of statementsOf(text)) await connection.execute(sql.raw(statement));
      await connection.execute(sql`insert into migrations (name) values (${name})`);
      return name;
    });
    if (next === null) return { applied };
    applied.push(next);
  }
}

/** Names of the migrations that this code has and the database has not; empty when it is ready. */
export async function pendingMigrations(database: Database): Promise<readonly string[]> {
  const done = new Set(await appliedMigrations(database.connection));
  return (await knownMigrations()).filter((name) => !done.has(name));
}

async function knownMigrations(): Promise<readonly string[]> {
  const names = await readdir(join(packageRoot, 'migrations'));
  return names.filter((name) => /^\d{4}_[a-z_]+\.sql$/.test(name)).sort();
}

async function appliedMigrations(connection: Database['connection']): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(connection, sql`select name from migrations`);
  return rows.map((row) => row.name);
}

/** Splits a migration at the semicolons outside `$$` bodies and comments; the drivers take one statement a call. */
function statementsOf(text: string): string[] {
  const withoutComments = text.replace(/^\s*--.*$/gm, '');
  const parts = withoutComments.split('$$');
  const statements: string[] = [''];
  parts.forEach((part, index) => {
    const last = statements.length - 1;
    if (index % 2 === 1) {
      statements[last] += `$$${part}$$`;
      return;
    }
    const [first = '', ...rest] = part.split(';');
    statements[last] += first;
    statements.push(...rest);
  });
  return statements.map((statement) => statement.trim()).filter((statement) => statement.length > 0);
}
