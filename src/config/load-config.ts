import type { AgentConfig, Config } from './config.ts';
import type { ConfigFault } from './config-fault.ts';
import { configRevision } from './config-revision.ts';
import type { Draft } from './draft.ts';
import { type ConfigInput, readChecked } from './read-checked.ts';
import type { ResolvedPolicies } from './resolved-policies.ts';
import type { ServerSection } from './server-section.ts';

export type LoadedConfig =
  | { readonly kind: 'loaded'; readonly config: Config; readonly warnings: readonly ConfigFault[] }
  /** Everything that is wrong, in the order of the file; none of it holds a secret. */
  | { readonly kind: 'faulty'; readonly faults: readonly ConfigFault[] };

/**
 * Reads `countersign.yaml`: expands the environment, checks each part by its schema and all parts against each
 * other.
 */
export function loadConfig(input: ConfigInput): LoadedConfig {
  const checked = readChecked(input);
  if (checked.kind === 'faulty') return checked;
  const { server, draft, resolved, agents, collector } = checked;
  const config = assemble(server, draft, resolved, agents);
  return {
    kind: 'loaded',
    config: { ...config, revision: configRevision(config, input.channelKinds) },
    warnings: collector.warnings,
  };
}

function assemble(
  server: ServerSection,
  draft: Draft,
  resolved: ResolvedPolicies,
  agents: readonly AgentConfig[],
): Omit<Config, 'revision'> {
  const valuesOf = <Value>(entries: readonly { readonly value: Value }[]): Value[] =>
    entries.map(({ value }) => value);
  const { organization, listen, operations, publicUrl, database, migrationDatabase } = server;
  const { dataDir, locale, timeZone, trustProxy, externalTools, masked, resumeAtOnce } = server;
  return {
    ...{ organization, listen, operations, publicUrl, database, migrationDatabase },
    ...{ dataDir, locale, timeZone, trustProxy, externalTools, masked, agents, resumeAtOnce },
    parkAfterMs: server.parkAfter,
    apiKeys: valuesOf(draft.apiKeys),
    people: draft.people.map(({ value }) => value.person),
    channels: valuesOf(draft.channels),
    policies: valuesOf(resolved.policies),
    defaultPolicy: resolved.defaultPolicy?.value ?? null,
    floor: resolved.floor?.value ?? null,
    models: Object.fromEntries(draft.models),
    connectors: valuesOf(draft.connectors),
  };
}
