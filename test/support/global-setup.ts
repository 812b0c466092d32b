import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import { migrate } from '../../src/db/migrate.ts';
import { keepProgramsIn } from './built-programs.ts';
import { startPostgres } from './postgres-server.ts';
import { runStatement } from './run-statement.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    /** The name of a migrated database that others are copied from. */
    postgresTemplate: string;
    /** Where the picture of a migrated embedded database is, once somebody has needed one. */
    embeddedTemplate: string;
  }
}

/** One real PostgreSQL for the whole test run; each test file makes databases of its own in it. */
export default async function setup(project: TestProject) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-test-'));
  const server = await startPostgres(folder);
  project.provide('postgresUrl', server.url);
  project.provide('postgresTemplate', await migratedTemplate(server.url));
  keepProgramsIn(folder);
  project.provide('embeddedTemplate', join(folder, 'embedded.tar'));
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

async function migratedTemplate(serverUrl: string): Promise<string> {
  const name = 'countersign_migrated';
  await runStatement(serverUrl, `create database ${name}`);
  const url = serverUrl.replace(/\/postgres$/, `/${name}`);
  const database = await connectPostgres({ url, listen: false });
  await migrate(database);
  // Nobody may be connected to what is copied.
  await database.close();
  return name;
}
