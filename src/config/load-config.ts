import type { AnyChannelKind } from '../channel/channel-kind.ts';
import type { AnyHookKind } from '../hook/hook-kind.ts';
import { checkAbsences } from './check-absences.ts';
import { checkAccounts } from './check-accounts.ts';
import { checkConditions } from './check-conditions.ts';
import { checkCoverage } from './check-coverage.ts';
import { checkCredentials } from './check-credentials.ts';
import { checkDuplicates } from './check-duplicates.ts';
import { checkQuorums } from './check-quorums.ts';
import { checkRequesters } from './check-requesters.ts';
import { checkServer } from './check-server.ts';
import { checkToolPatterns } from './check-tool-patterns.ts';
import { checkToolSchemas } from './check-tool-schemas.ts';
import type { AgentConfig, Config } from './config.ts';
import type { ConfigFault } from './config-fault.ts';
import { configRevision } from './config-revision.ts';
import { type Draft, readDraft } from './draft.ts';
import type { Environment } from './expand-environment.ts';
import { resolveAgents } from './resolve-agents.ts';
import { type ResolvedPolicies, resolvePolicies } from './resolved-policies.ts';
import type { ServerSection } from './server-section.ts';
import { readYamlSource } from './yaml-source.ts';

export type LoadedConfig =
  | { readonly kind: 'loaded'; readonly config: Config; readonly warnings: readonly ConfigFault[] }
  /** Everything that is wrong, in the order of the file; none of it holds a secret. */
  | { readonly kind: 'faulty'; readonly faults: readonly ConfigFault[] };

/**
 * Reads `countersign.yaml`: expands the environment, checks each part by its schema and all parts against each
 * other. `channelKinds` and `hookKinds` are what this service is built with; their schemas check their own parts.
 */
export function loadConfig(input: {
  readonly text: string;
  /** For messages only. */
  readonly fileName: string;
  readonly environment: Environment;
  readonly channelKinds: readonly AnyChannelKind[];
  readonly hookKinds: readonly AnyHookKind[];
}): LoadedConfig {
  const read = readYamlSource(input.text, input.fileName, input.environment);
  if (read.kind === 'faulty') return read;
  const { source } = read;
  const { collector } = source;
  const draft = readDraft(source, input.channelKinds);
  checkServer(draft, collector);
  checkDuplicates(draft, collector);
  checkCredentials(draft, collector);
  checkAccounts(draft, collector);
  checkAbsences(draft, collector);
  checkRequesters(draft, collector);
  checkToolSchemas(draft, collector);
  checkToolPatterns(draft, collector);
  checkCoverage(draft, collector);
  const resolved = resolvePolicies(draft, collector);
  checkQuorums(draft, resolved, collector);
  checkConditions(resolved, collector);
  const agents = resolveAgents(draft, source, input.hookKinds);

  const { faults, warnings } = collector;
  if (draft.server === null || faults.length > 0) return { kind: 'faulty', faults };
  const checked = assemble(draft.server, draft, resolved, agents);
  return {
    kind: 'loaded',
    config: { ...checked, revision: configRevision(checked, input.channelKinds) },
    warnings,
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
  const { dataDir, locale, timeZone, trustProxy, externalTools } = server;
  return {
    ...{ organization, listen, operations, publicUrl, database, migrationDatabase },
    ...{ dataDir, locale, timeZone, trustProxy, externalTools, agents },
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
