import type { Config, ConnectorToolConfig, HttpConnectorConfig } from '../config/config.ts';
import type { DecisiveField } from '../confirmation/confirmation-request.ts';
import type { ToolFacts } from '../confirmation/tool-facts.ts';
import { compileGlobs } from '../glob.ts';
import { compileArguments } from './argument-schema.ts';
import { CALL_AGENT, CALL_AGENT_VERSION } from './call-agent-definition.ts';
import { decisiveFieldsOf } from './decisive-fields.ts';
import { executeOverHttp } from './http-connector.ts';
import type { McpConnector } from './mcp-connector.ts';
import { isPlainToolName } from './plain-tool-name.ts';
import type { Tool } from './tool.ts';
import type { ToolReach } from './tool-reach.ts';
import { connectorToolVersion } from './tool-version.ts';

/** What lists tools late, and lists others later. */
export type ToolSource = Pick<McpConnector, 'id' | 'tools' | 'find' | 'isListed' | 'isConnected' | 'reached'>;

/**
 * Every tool that this service itself can run, as it stands at this moment, and the names of those that outside agents
 * own.
 */
export class ToolCatalog implements ToolFacts, ToolReach {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #sources: readonly ToolSource[];
  readonly #matchesExternal: (name: string) => boolean;

  /** Throws where a tool's schema is no JSON Schema. */
  constructor(config: Pick<Config, 'connectors' | 'externalTools'>, sources: readonly ToolSource[] = []) {
    this.#tools = new Map(
      config.connectors
        .flatMap((connector) =>
          connector.kind === 'http' ? connector.tools.map((tool) => connectorTool(connector, tool)) : [],
        )
        .map((tool) => [tool.name, tool]),
    );
    this.#sources = sources;
    this.#matchesExternal = compileGlobs(config.externalTools);
  }

  find(name: string): Tool | null {
    return this.#tools.get(name) ?? this.#sourceOf(name)?.find(name) ?? null;
  }

  /** The tools of this moment whose full names match one of the agent's globs, in the order of the configuration. */
  forAgent(patterns: readonly string[]): readonly Tool[] {
    const matches = compileGlobs(patterns);
    return [...this.#tools.values(), ...this.#sources.flatMap((source) => source.tools())].filter((tool) =>
      matches(tool.name),
    );
  }

  /** Nothing is waited for on account of a name that the agent may not call. */
  reachFor(patterns: readonly string[]): ToolReach {
    const matches = compileGlobs(patterns);
    return {
      isUnlisted: (name) => matches(name) && this.isUnlisted(name),
      isReachable: (name) => !matches(name) || this.isReachable(name),
      reached: (name, signal) => this.reached(name, signal),
    };
  }

  isUnlisted(name: string): boolean {
    return !this.#tools.has(name) && this.#sourceOf(name)?.isListed === false;
  }

  isReachable(name: string): boolean {
    return this.#tools.has(name) || this.#sourceOf(name)?.isConnected !== false;
  }

  async reached(name: string, signal: AbortSignal): Promise<void> {
    if (!this.isReachable(name)) await this.#sourceOf(name)?.reached(signal);
  }

  #sourceOf(name: string): ToolSource | undefined {
    return this.#sources.find(({ id }) => name.startsWith(`${id}__`));
  }

  /**
   * Whether an outside agent may ask about a tool of this name; a connector's tool is never external. Policies match
   * names exactly, so a name that only looks like another one would slip past the policy of that one. What begins like
   * the tools of a server that lists its own is never external, listed or not.
   */
  isExternal(name: string): boolean {
    if (this.#tools.has(name) || this.#sourceOf(name) !== undefined) return false;
    return isPlainToolName(name) && this.#matchesExternal(name);
  }

  versionOf(name: string): string | null | undefined {
    if (name === CALL_AGENT) return CALL_AGENT_VERSION;
    return this.find(name)?.version ?? (this.isExternal(name) ? null : undefined);
  }

  timeoutMsOf(name: string): number | null {
    return this.find(name)?.timeoutMs ?? null;
  }

  isIdempotent(name: string): boolean {
    return this.find(name)?.idempotent ?? false;
  }

  decisiveFieldsOf(name: string): readonly DecisiveField[] {
    return this.find(name)?.decisiveFields ?? [];
  }
}

function connectorTool(connector: HttpConnectorConfig, tool: ConnectorToolConfig): Tool {
  return {
    name: `${connector.id}__${tool.name}`,
    description: tool.description,
    parameters: tool.parameters,
    version: connectorToolVersion(connector, tool),
    connector: connector.id,
    writes: tool.writes,
    idempotent: tool.idempotent,
    joinsRunning: false,
    requiresConfirmation: tool.requiresConfirmation,
    timeoutMs: tool.timeoutMs,
    decisiveFields: decisiveFieldsOf(tool.card),
    validate: compileArguments(tool.parameters),
    execute: (call) => executeOverHttp(connector, tool, call),
  };
}
