import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platforms, startPlatforms, yamlFor } from '../e2e/platforms.ts';
import { type ServiceProcess, startServiceProcess } from '../e2e/service-process.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { runStatement } from '../support/run-statement.ts';

/** A PostgreSQL that may be killed, with a service on it and both chats. */
export interface DurableService {
  readonly postgres: PostgresServer;
  readonly databaseUrl: string;
  readonly platforms: Platforms;
  readonly service: ServiceProcess;
  stop(): Promise<void>;
}

/** Everything of its own: the server that all other rows share must not be killed under them. */
export async function startDurableService(): Promise<DurableService> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-durable-'));
  const postgres = await startPostgres(folder, { durable: true });
  await runStatement(postgres.url, 'create database service');
  const databaseUrl = postgres.url.replace(/\/postgres$/, '/service');
  const platforms = await startPlatforms();
  const service = await startServiceProcess(
    yamlFor({ platforms, databaseUrl, dataDir: join(folder, 'data') }),
  );
  platforms.serviceUrl = service.url;
  return {
    postgres,
    databaseUrl,
    platforms,
    service,
    async stop() {
      await service.stop();
      await platforms.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
