import type { McpConnector } from '../agent/mcp-connector.ts';
import type { Channel } from '../channel/channel.ts';
import type { Database } from '../db/database.ts';
import { pendingMigrations } from '../db/migrate.ts';
import type { Readiness, ReadinessCheck } from '../http/readiness.ts';

/** Asks the database, its migrations and each channel whether work can be done now. */
export const createReadiness = (input: {
  readonly database: Database;
  readonly channels: readonly Channel[];
  readonly servers: readonly Pick<McpConnector, 'id' | 'health'>[];
}): Readiness => ({
  async check() {
    const { database, channels, servers } = input;
    return [
      ...(await checkDatabase(database)),
      {
        name: 'listener',
        // A lost listener makes waits slower and nothing wrong, so it does not take the service out of rotation.
        ready: true,
        detail: database.notifier.connected
          ? 'notifications arrive'
          : 'notifications are lost; polling instead',
      },
      ...channels.map((channel) => ({ name: `channel ${channel.id}`, ...channel.health() })),
      ...servers.map((server) => ({
        name: `connector ${server.id}`,
        // It hurts its own tools alone: approvals and everybody else's calls go on.
        ready: true,
        detail: server.health().detail,
      })),
    ];
  },
});

async function checkDatabase(database: Database): Promise<ReadinessCheck[]> {
  try {
    const pending = await pendingMigrations(database);
    return [
      { name: 'database', ready: true, detail: 'answers' },
      {
        name: 'migrations',
        ready: pending.length === 0,
        detail: pending.length === 0 ? 'up to date' : `not applied: ${pending.join(', ')}`,
      },
    ];
  } catch {
    return [{ name: 'database', ready: false, detail: 'does not answer' }];
  }
}
