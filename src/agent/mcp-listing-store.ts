import type { ListedTool } from './mcp-listing.ts';

/** Which server a listing is of: the connector's name, and a digest of where the server is. */
export interface McpServerKey {
  readonly connector: string;
  readonly server: string;
}

/** What each server listed last, for a process that starts while the server is not there. */
export interface McpListingStore {
  /** Null where nothing is known of this server. */
  last(key: McpServerKey): Promise<readonly ListedTool[] | null>;
  keep(key: McpServerKey, tools: readonly ListedTool[]): Promise<void>;
}
