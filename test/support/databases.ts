import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { inject } from 'vitest';
import { connectEmbedded } from '../../src/db/connect-embedded.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { embeddedDatabase } from '../../src/db/embedded-database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { runStatement } from './run-statement.ts';

/** The two databases every store has to work on: `describe.each(DATABASES)('…on $name', ({ open }) => …)`. */
export const DATABASES = [
  { name: 'PostgreSQL', open: openPostgres },
  { name: 'the embedded database', open: openEmbedded },
];

/** The same as an installation finds them, before the first migration. */
export const EMPTY_DATABASES = [
  { name: 'PostgreSQL', open: async () => connectPostgres({ url: await createDatabase('template1') }) },
  { name: 'the embedded database', open: () => connectEmbedded(null) },
];

/** A fresh, migrated database on the real server, and its URL for a second process. */
export const newPostgresDatabase = (): Promise<string> => createDatabase(inject('postgresTemplate'));

export async function openPostgres(): Promise<Database> {
  return connectPostgres({ url: await newPostgresDatabase() });
}

/** From a picture of one that was migrated, which the first file to need it takes: making one takes seconds. */
export async function openEmbedded(): Promise<Database> {
  const file = inject('embeddedTemplate');
  const template = await readFile(file).catch(() => null);
  if (template !== null)
    return embeddedDatabase(
      await PGlite.create({ dataDir: 'memory://', loadDataDir: new Blob([new Uint8Array(template)]) }),
    );
  const client = await PGlite.create('memory://');
  const database = embeddedDatabase(client);
  await migrate(database);
  const picture = await client.dumpDataDir('none');
  // Whole or not there at all, also where two files begin at once.
  const own = `${file}.${randomUUID()}`;
  await writeFile(own, new Uint8Array(await picture.arrayBuffer()));
  await rename(own, file);
  return database;
}

async function createDatabase(template: string): Promise<string> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runStatement(serverUrl, `create database ${name} template ${template}`);
  return serverUrl.replace(/\/postgres$/, `/${name}`);
}
