import type { Config, McpConnectorConfig } from '../config/config.ts';
import { compileGlob, globsOverlap } from '../glob.ts';
import type { AgentLogger } from './invoke-ports.ts';
import type { ListedTool, McpListing } from './mcp-listing.ts';
import type { Tool } from './tool.ts';

const REFUSALS_LOGGED = 20;

/** For the log: what a server lists now, what is not taken, and which patterns speak of nothing. */
export function tellListing(
  listing: {
    readonly connector: McpConnectorConfig;
    readonly listed: readonly ListedTool[];
    readonly refused: McpListing['refused'];
    readonly tools: readonly Tool[];
  },
  { logger, config }: { readonly logger: AgentLogger; readonly config: Pick<Config, 'policies' | 'agents'> },
): void {
  const { listed, refused, tools } = listing;
  const { id: connector, requiresConfirmation, tools: rules } = listing.connector;
  const gated = tools.filter((tool) => tool.requiresConfirmation).length;
  logger.info({ connector, tools: tools.length, gated }, 'an MCP server has listed its tools');
  for (const { name, why } of refused.slice(0, REFUSALS_LOGGED)) {
    logger.warn({ connector, tool: name, why }, 'a tool of an MCP server is refused');
  }
  const own = [...requiresConfirmation, ...rules.map(({ name }) => name)];
  const idle = [
    ...own.filter((pattern) => !listed.some(({ name }) => compileGlob(pattern).matches(name))),
    ...[...config.policies, ...config.agents]
      .flatMap((entry) => entry.tools)
      .filter((pattern) => globsOverlap(pattern, `${connector}__*`) && pattern.startsWith(`${connector}__`))
      .filter((pattern) => !tools.some(({ name }) => compileGlob(pattern).matches(name))),
  ];
  if (idle.length > 0) {
    logger.warn(
      { connector, patterns: [...new Set(idle)] },
      'patterns match no tool that the MCP server lists',
    );
  }
}
