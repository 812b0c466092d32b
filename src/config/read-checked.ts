import type { AnyChannelKind } from '../channel/channel-kind.ts';
import type { AnyHookKind } from '../hook/hook-kind.ts';
import { checkAbsences } from './check-absences.ts';
import { checkAccounts } from './check-accounts.ts';
import { checkConditions } from './check-conditions.ts';
import { checkCoverage } from './check-coverage.ts';
import { checkCredentials } from './check-credentials.ts';
import { checkDirects } from './check-directs.ts';
import { checkDuplicates } from './check-duplicates.ts';
import { checkQuorums } from './check-quorums.ts';
import { checkRequesters } from './check-requesters.ts';
import { checkServer } from './check-server.ts';
import { checkToolPatterns } from './check-tool-patterns.ts';
import { checkToolSchemas } from './check-tool-schemas.ts';
import type { AgentConfig } from './config.ts';
import type { ConfigFault } from './config-fault.ts';
import { type Draft, readDraft } from './draft.ts';
import type { Environment } from './expand-environment.ts';
import type { FaultCollector } from './fault-collector.ts';
import { resolveAgents } from './resolve-agents.ts';
import { type ResolvedPolicies, resolvePolicies } from './resolved-policies.ts';
import type { ServerSection } from './server-section.ts';
import { readYamlSource } from './yaml-source.ts';

export interface ConfigInput {
  readonly text: string;
  /** For messages only. */
  readonly fileName: string;
  readonly environment: Environment;
  /** What this service is built with; their schemas check their own parts. */
  readonly channelKinds: readonly AnyChannelKind[];
  readonly hookKinds: readonly AnyHookKind[];
}

/** A file in which nothing is wrong, in its parts, with what else was noticed. */
export interface CheckedConfig {
  readonly kind: 'checked';
  readonly server: ServerSection;
  readonly draft: Draft;
  readonly resolved: ResolvedPolicies;
  readonly agents: readonly AgentConfig[];
  readonly collector: FaultCollector;
}

/** Every check of a configuration file, one after the other, so that one fault hides no other. */
export function readChecked(
  input: ConfigInput,
): CheckedConfig | { readonly kind: 'faulty'; readonly faults: readonly ConfigFault[] } {
  const read = readYamlSource(input.text, input.environment);
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
  checkDirects(draft, resolved, collector);
  checkConditions(resolved, collector);
  const agents = resolveAgents(draft, source, input.hookKinds);
  const { server } = draft;
  if (server === null || collector.faults.length > 0) return { kind: 'faulty', faults: collector.faults };
  return { kind: 'checked', server, draft, resolved, agents, collector };
}
