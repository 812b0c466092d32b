import { McpConnector } from '../agent/mcp-connector.ts';
import { sleep } from '../clock.ts';
import { createMcpListingStore } from '../db/mcp-listing-store.ts';
import type { Foundation } from './foundation.ts';

/** How long the start waits for servers that list their tools: runs that are taken up again shall find them. */
const FIRST_LISTING_WITHIN_MS = 5_000;

/** Servers of tools, connected in the background: one that is down, or slow, keeps nothing else from starting. */
export async function connectServers({
  config,
  clock,
  logger,
  database,
  started,
}: Foundation): Promise<readonly McpConnector[]> {
  const listings = createMcpListingStore(database);
  const servers = config.connectors.flatMap((connector) =>
    connector.kind === 'mcp' ? [new McpConnector(connector, { config, clock, logger, listings })] : [],
  );
  for (const server of servers) {
    await server.start();
    started.push(server);
  }
  if (servers.length === 0) return servers;
  const listed = Promise.all(servers.map(({ firstAttempt }) => firstAttempt));
  await Promise.race([listed, sleep(clock, FIRST_LISTING_WITHIN_MS)]);
  return servers;
}
