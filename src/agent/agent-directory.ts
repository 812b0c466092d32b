import type { Clock } from '../clock.ts';
import type { AgentConfig, Config } from '../config/config.ts';
import { buildHookRegistry } from '../hook/build-hook-registry.ts';
import type { GateHook } from '../hook/hook.ts';
import { HookBuildError } from '../hook/hook-build-error.ts';
import type { AnyHookKind } from '../hook/hook-kind.ts';
import type { HookPorts } from '../hook/hook-ports.ts';
import type { HookRegistry } from '../hook/hook-registry.ts';
import type { AgentId } from '../ids.ts';
import type { Model } from './model.ts';
import { createOpenAiModel } from './openai-model.ts';
import type { Tool } from './tool.ts';
import type { ToolCatalog } from './tool-catalog.ts';
import type { ToolReach } from './tool-reach.ts';

/** An agent of the configuration, ready to work: built once, shared by its runs. */
export interface AgentSetup {
  readonly config: AgentConfig;
  /** Its tools of this moment: some are listed late, and change. */
  tools(): readonly Tool[];
  readonly reach: ToolReach;
  readonly hooks: HookRegistry;
  /** Null for an agent that lives outside and only asks. */
  readonly model: Model | null;
}

export interface HookSources {
  /** Null: for an outside agent that the configuration does not know. */
  gateHookFor(agent: AgentConfig | null): GateHook;
  readonly hookKinds: readonly AnyHookKind[];
  readonly hookPorts: HookPorts;
}

/**
 * Every agent with hooks of its own, built from its own configuration: a delegate never has less gate than it
 * declares. An agent whose hooks cannot be built is not in here, and `faults` says why.
 */
export class AgentDirectory {
  readonly faults: readonly string[];
  readonly #setups: ReadonlyMap<AgentId, AgentSetup>;
  readonly #configured: ReadonlySet<AgentId>;
  readonly #unknownAgentHooks: HookRegistry;

  constructor(
    config: Pick<Config, 'agents' | 'models'>,
    catalog: ToolCatalog,
    sources: HookSources,
    clock: Clock,
  ) {
    const models = new Map(
      Object.entries(config.models).map(([id, model]) => [id, createOpenAiModel(model, clock)]),
    );
    const faults: string[] = [];
    const setups = new Map<AgentId, AgentSetup>();
    for (const agent of config.agents) {
      try {
        setups.set(agent.id, {
          config: agent,
          tools: () => catalog.forAgent(agent.tools),
          reach: catalog.reachFor(agent.tools),
          hooks: registryFor(agent, sources),
          model: agent.model === null ? null : (models.get(agent.model) ?? null),
        });
      } catch (error) {
        if (!(error instanceof HookBuildError)) throw error;
        faults.push(...error.faults.map((fault) => `agent "${agent.id}": ${fault}`));
      }
    }
    this.faults = faults;
    this.#setups = setups;
    this.#configured = new Set(config.agents.map((agent) => agent.id));
    this.#unknownAgentHooks = registryFor(null, sources);
  }

  find(id: AgentId): AgentSetup | null {
    return this.#setups.get(id) ?? null;
  }

  isConfigured(id: AgentId): boolean {
    return this.#configured.has(id);
  }

  /** The hooks for a call of an outside agent: its own where it is configured, the gate alone where it is not. */
  hooksFor(agent: AgentConfig | null): HookRegistry | null {
    return agent === null ? this.#unknownAgentHooks : (this.#setups.get(agent.id)?.hooks ?? null);
  }
}

const registryFor = (agent: AgentConfig | null, sources: HookSources): HookRegistry =>
  buildHookRegistry({
    declarations: agent?.hooks ?? [],
    kinds: sources.hookKinds,
    gate: sources.gateHookFor(agent),
    ports: sources.hookPorts,
  });
