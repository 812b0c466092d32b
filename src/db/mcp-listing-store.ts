import { sql } from 'drizzle-orm';
import { readListing } from '../agent/mcp-listing.ts';
import type { McpListingStore } from '../agent/mcp-listing-store.ts';
import type { Database } from './database.ts';
import { rowsOf } from './rows-of.ts';

/** One row a server; of replicas that list at the same time the last one stays, and they list the same. */
export const createMcpListingStore = ({ connection }: Pick<Database, 'connection'>): McpListingStore => ({
  async last({ connector, server }) {
    const [row] = await rowsOf<{ tools: string }>(
      connection,
      sql`select tools from mcp_listings where connector = ${connector} and server = ${server}`,
    );
    return row ? readListing(row.tools) : null;
  },
  async keep({ connector, server }, tools) {
    await connection.execute(sql`
      insert into mcp_listings (connector, server, tools) values (${connector}, ${server}, ${JSON.stringify(tools)})
      on conflict (connector) do update
        set server = excluded.server, tools = excluded.tools, at = clock_timestamp()`);
  },
});
