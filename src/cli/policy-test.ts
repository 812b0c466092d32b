import { isAskedAbout } from '../agent/mcp-tool.ts';
import { isPlainToolName } from '../agent/plain-tool-name.ts';
import { ToolCatalog } from '../agent/tool-catalog.ts';
import type { Config, McpConnectorConfig } from '../config/config.ts';
import { MAX_ARGUMENTS_DEPTH, parseJson } from '../confirmation/arguments.ts';
import { explainCall } from '../confirmation/explain-call.ts';
import { explanationLines } from '../confirmation/explanation-lines.ts';
import { compileGlobs } from '../glob.ts';
import type { JsonObject } from '../json.ts';
import { withConfig } from './with-config.ts';

export interface PolicyTestOptions {
  readonly configFile: string;
  readonly tool: string;
  /** JSON objects, as text. */
  readonly args: string;
  readonly metadata: string;
  readonly agent: string | null;
  readonly requester: string | null;
  readonly session: string | null;
}

/**
 * `countersign policy test`: what would be asked about a call that has not happened; needs no database. 0 whatever the
 * answer is, 1 where there is no such call (a tool or a person nobody knows, arguments that are not JSON).
 */
export const policyTest = (options: PolicyTestOptions): Promise<number> =>
  withConfig(options.configFile, async (config) => {
    const fault = faultOf(config, options);
    if (fault !== null) {
      console.error(fault);
      return 1;
    }
    const { tool: toolName } = options;
    const tool = new ToolCatalog(config).find(toolName);
    const server = serverOf(config, toolName);
    if (server !== null)
      console.error(
        `warning: ${server.id} lists its tools itself: whether there is a ${toolName}, its schema and what it says about itself are not looked at`,
      );
    const agent = agentOf(config, options);
    const args = objectIn(options.args);
    const check = tool?.validate(args);
    if (check?.kind === 'invalid')
      console.error(`warning: the gate would not be asked, the tool's schema refuses this: ${check.message}`);
    const explanation = explainCall({
      config,
      question: {
        tool: toolName,
        args,
        agent: agent?.id ?? options.agent ?? '-',
        requester: options.requester ?? agent?.owner ?? null,
        session: options.session,
        metadata: objectIn(options.metadata),
        flagged:
          tool?.requiresConfirmation === true ||
          (server !== null && isFlagged(config, server, toolName)) ||
          agent?.requireConfirmationForAll === true,
      },
      agentOwner: agent?.owner ?? null,
      now: new Date(),
    });
    for (const line of explanationLines(explanation, config.locale)) console.log(line);
    return 0;
  });

/** The server that would list a tool of this name; null: no server would. */
function serverOf({ connectors }: Config, tool: string): McpConnectorConfig | null {
  for (const connector of connectors)
    if (connector.kind === 'mcp' && tool.startsWith(`${connector.id}__`)) return connector;
  return null;
}

const isFlagged = ({ policies }: Config, server: McpConnectorConfig, tool: string): boolean =>
  isAskedAbout(server, tool.slice(server.id.length + 2), {
    isCovered: compileGlobs(policies.flatMap(({ tools }) => tools))(tool),
    saysItWrites: false,
  });

/** The agent that was named, or else the first that may use the tool. */
function agentOf(config: Config, { agent, tool }: PolicyTestOptions): Config['agents'][number] | null {
  const found = config.agents.find(({ id, tools }) =>
    agent === null ? compileGlobs(tools)(tool) : id === agent,
  );
  return found ?? (agent === null ? (config.agents[0] ?? null) : null);
}

function faultOf(config: Config, options: PolicyTestOptions): string | null {
  const { tool, agent, requester } = options;
  const catalog = new ToolCatalog(config);
  const isListed = serverOf(config, tool) !== null && isPlainToolName(tool);
  if (!isListed && catalog.find(tool) === null && !catalog.isExternal(tool))
    return `There is no tool ${tool}, neither a connector's nor in externalTools: such a call is refused.`;
  if (agent !== null && !config.agents.some(({ id }) => id === agent))
    return `There is no agent ${agent} in the configuration.`;
  if (requester !== null && !config.people.some(({ id }) => id === requester))
    return `There is no person ${requester} in the configuration.`;
  for (const [option, text] of [
    ['--args', options.args],
    ['--metadata', options.metadata],
  ] as const) {
    const parsed = parseJson(text, { maxDepth: MAX_ARGUMENTS_DEPTH });
    if (parsed.kind === 'refused') return `${option}: ${parsed.message}`;
  }
  return null;
}

function objectIn(text: string): JsonObject {
  const parsed = parseJson(text, { maxDepth: MAX_ARGUMENTS_DEPTH });
  if (parsed.kind === 'refused') throw new Error(parsed.message);
  return parsed.value;
}
