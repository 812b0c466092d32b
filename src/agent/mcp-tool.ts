import type { McpConnectorConfig, McpToolRule } from '../config/config.ts';
import { compileGlob, compileGlobs } from '../glob.ts';
import type { JsonObject } from '../json.ts';
import { decisiveFieldsOf } from './decisive-fields.ts';
import type { ListedTool } from './mcp-listing.ts';
import type { Tool, ToolExecution, ToolOutcome } from './tool.ts';
import { definitionDigest } from './tool-version.ts';
import { compileUntrusted } from './untrusted-schema.ts';

/** What models take as the name of a function. */
const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 4_000;

/** How a tool is treated where no rule of the connector names it. */
const NO_RULE: Omit<McpToolRule, 'name'> = {
  card: { amount: null, currency: null, payee: null, decisive: [] },
  writes: true,
  idempotent: false,
  requiresConfirmation: null,
  timeoutMs: 30_000,
};

export interface McpToolPorts {
  readonly connector: McpConnectorConfig;
  /** Whether some policy names tools that this one is among, whatever its condition says. */
  isCovered(name: string): boolean;
  send(tool: Pick<Tool, 'name' | 'version'>, listed: ListedTool, call: ToolExecution): Promise<ToolOutcome>;
}

/**
 * A server's tool as one of ours, or why it cannot be one. The configuration says how it is treated; what the server
 * says about itself only makes that stricter. A tool that no rule speaks of is asked about. Throws `McpMisbehaved` for
 * a schema that takes too long.
 */
export function toMcpTool(listed: ListedTool, ports: McpToolPorts): Tool | { readonly why: string } {
  const { connector } = ports;
  const name = `${connector.id}__${listed.name}`;
  if (name.length > LONGEST_NAME) return { why: `has a full name of more than ${LONGEST_NAME} characters` };
  const schema = compileUntrusted(listed.inputSchema);
  if (schema.kind === 'faulty') return { why: schema.why };

  const rule = ruleOf(connector, listed.name);
  const { hints } = listed;
  const saysItWrites = hints.readOnly === false || hints.destructive === true;
  const writes = rule.writes || saysItWrites;
  const idempotent = rule.idempotent && hints.idempotent !== false;
  const requiresConfirmation = isAskedAbout(connector, listed.name, {
    isCovered: ports.isCovered(name),
    saysItWrites,
  });
  const version = mcpToolVersion(connector, listed, { ...rule, writes, idempotent });
  return {
    name,
    description: listed.description.slice(0, LONGEST_DESCRIPTION),
    parameters: listed.inputSchema,
    version,
    connector: connector.id,
    writes,
    idempotent,
    joinsRunning: false,
    requiresConfirmation,
    timeoutMs: rule.timeoutMs,
    decisiveFields: decisiveFieldsOf(rule.card),
    validate: schema.validate,
    execute: (call) => ports.send({ name, version }, listed, call),
  };
}

const ruleOf = (connector: McpConnectorConfig, ownName: string): Omit<McpToolRule, 'name'> =>
  connector.tools.find((candidate) => compileGlob(candidate.name).matches(ownName)) ?? NO_RULE;

/** Whether a tool, by the server's own name of it, needs a confirmation even where no policy matches. */
export function isAskedAbout(
  connector: McpConnectorConfig,
  ownName: string,
  { isCovered, saysItWrites }: { readonly isCovered: boolean; readonly saysItWrites: boolean },
): boolean {
  const { requiresConfirmation } = ruleOf(connector, ownName);
  const isExempt = requiresConfirmation === false && !saysItWrites;
  return (
    compileGlobs(connector.requiresConfirmation)(ownName) ||
    requiresConfirmation === true ||
    (!isExempt && !isCovered)
  );
}

/**
 * A digest of everything that says what the tool does and where, in the server's words and in the operator's: another
 * description, and what was approved does not run. Values of headers and variables change without changing the tool.
 */
const mcpToolVersion = (
  { id, kind, server }: McpConnectorConfig,
  { hints, ...listed }: ListedTool,
  { card, writes, idempotent, timeoutMs }: Omit<McpToolRule, 'name'>,
): string =>
  definitionDigest({
    connector: id,
    kind,
    server: placeOf(server),
    ...listed,
    hints: { ...hints },
    card: { ...card, decisive: [...card.decisive] },
    writes,
    idempotent,
    timeoutMs,
  });

/** Which server it is, wherever the values of its headers and variables come from. */
export const serverDigest = ({ server }: McpConnectorConfig): string => definitionDigest(placeOf(server));

const placeOf = (server: McpConnectorConfig['server']): JsonObject =>
  server.transport === 'http' ? { url: server.url } : { command: [...server.command], cwd: server.cwd };
