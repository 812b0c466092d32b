import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

/** One real PostgreSQL for the whole test run; each test file makes databases of its own in it. */
export default async function setup(project: TestProject) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-test-'));
  const server = await startPostgres(folder);
  project.provide('postgresUrl', server.url);
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
