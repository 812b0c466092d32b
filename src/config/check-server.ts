import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';

/** Plain settings that contradict each other. */
export function checkServer({ server }: Draft, collector: FaultCollector): void {
  if (server === null) return;
  const { listen, operations, database, migrationDatabase } = server;
  if (operations !== null && operations.port !== 0 && operations.port === listen.port)
    collector.fault(['operations', 'port'], 'is the port of listen already');
  if (migrationDatabase !== null && database === null)
    collector.fault(['migrationDatabase'], 'needs database: the embedded one has no other owner');
}
