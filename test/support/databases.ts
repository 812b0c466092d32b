import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { connectEmbedded } from '../../src/db/connect-embedded.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { runStatement } from './run-statement.ts';

/** The two databases every store has to work on: `describe.each(DATABASES)('…on $name', ({ open }) => …)`. */
export const DATABASES = [
  { name: 'PostgreSQL', open: openPostgres },
  { name: 'the embedded database', open: openEmbedded },
];

/** A fresh, migrated database on the real server, and its URL for a second process. */
export async function newPostgresDatabase(): Promise<string> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runStatement(serverUrl, `create database ${name}`);
  return serverUrl.replace(/\/postgres$/, `/${name}`);
}

export async function openPostgres(): Promise<Database> {
  const database = await connectPostgres({ url: await newPostgresDatabase() });
  await migrate(database);
  return database;
}

export async function openEmbedded(): Promise<Database> {
  const database = await connectEmbedded(null);
  await migrate(database);
  return database;
}
