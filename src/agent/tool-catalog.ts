import type { Config, ConnectorConfig, ConnectorToolConfig } from '../config/config.ts';
import type { DecisiveField } from '../confirmation/confirmation-request.ts';
import type { ToolFacts } from '../confirmation/tool-facts.ts';
import { compileGlobs } from '../glob.ts';
import { compileArguments } from './argument-schema.ts';
import { CALL_AGENT, CALL_AGENT_VERSION } from './call-agent-definition.ts';
import { executeOverHttp } from './http-connector.ts';
import { isPlainToolName } from './plain-tool-name.ts';
import type { Tool } from './tool.ts';
import { connectorToolVersion } from './tool-version.ts';

/** Every tool that this service itself can run, and the names of those that outside agents own. */
export class ToolCatalog implements ToolFacts {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #matchesExternal: (name: string) => boolean;

  /** Throws where a tool's schema is no JSON Schema. */
  constructor(config: Pick<Config, 'connectors' | 'externalTools'>) {
    this.#tools = new Map(
      config.connectors
        .flatMap((connector) => connector.tools.map((tool) => connectorTool(connector, tool)))
        .map((tool) => [tool.name, tool]),
    );
    this.#matchesExternal = compileGlobs(config.externalTools);
  }

  find(name: string): Tool | null {
    return this.#tools.get(name) ?? null;
  }

  /** The tools whose full names match one of the agent's globs, in the order of the configuration. */
  forAgent(patterns: readonly string[]): readonly Tool[] {
    const matches = compileGlobs(patterns);
    return [...this.#tools.values()].filter((tool) => matches(tool.name));
  }

  /**
   * Whether an outside agent may ask about a tool of this name; a connector's tool is never external. Policies match
   * names exactly, so a name that only looks like another one would slip past the policy of that one.
   */
  isExternal(name: string): boolean {
    return !this.#tools.has(name) && isPlainToolName(name) && this.#matchesExternal(name);
  }

  versionOf(name: string): string | null | undefined {
    if (name === CALL_AGENT) return CALL_AGENT_VERSION;
    return this.#tools.get(name)?.version ?? (this.isExternal(name) ? null : undefined);
  }

  timeoutMsOf(name: string): number | null {
    return this.#tools.get(name)?.timeoutMs ?? null;
  }

  isIdempotent(name: string): boolean {
    return this.#tools.get(name)?.idempotent ?? false;
  }

  decisiveFieldsOf(name: string): readonly DecisiveField[] {
    return this.#tools.get(name)?.decisiveFields ?? [];
  }
}

function connectorTool(connector: ConnectorConfig, tool: ConnectorToolConfig): Tool {
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
    decisiveFields: decisiveFieldsOf(tool),
    validate: compileArguments(tool.parameters),
    execute: (call) => executeOverHttp(connector, tool, call),
  };
}

function decisiveFieldsOf(tool: ConnectorToolConfig): DecisiveField[] {
  const { amount, currency, payee, decisive } = tool.card;
  const fields: DecisiveField[] = [];
  if (amount !== null) fields.push({ role: 'amount', pointer: amount });
  if (currency !== null) fields.push({ role: 'currency', pointer: currency });
  if (payee !== null) fields.push({ role: 'payee', pointer: payee });
  return [...fields, ...decisive.map((pointer) => ({ role: 'other' as const, pointer }))];
}
