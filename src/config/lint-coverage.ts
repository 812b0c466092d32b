import { compileGlobs, globCovers } from '../glob.ts';
import type { McpConnectorConfig } from './config.ts';
import type { ConfigPath } from './config-fault.ts';
import { fullToolName } from './declared-names.ts';
import type { Draft, Entry } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import type { Lint } from './lint-config.ts';
import type { ResolvedPolicies } from './resolved-policies.ts';

/** Calls that need a confirmation and that no policy names: `defaultPolicy` alone decides them, or the floor. */
export const lintCoverage: Lint = ({ draft, resolved }, findings) => {
  const patterns = resolved.policies.flatMap(({ value }) => value.tools);
  const isCovered = (tool: string): boolean => patterns.some((pattern) => globCovers(pattern, tool));
  for (const { path, value: connector } of draft.connectors) {
    if (connector.kind === 'mcp') {
      lintServer(draft, { path, value: connector }, { isCovered, floor: resolved.floor }, findings);
      continue;
    }
    for (const [index, { name, requiresConfirmation }] of connector.tools.entries())
      if (requiresConfirmation && !isCovered(fullToolName(connector.id, name)))
        findings.warning(
          [...path, 'tools', index, 'requiresConfirmation'],
          `is set, and no policy covers ${fullToolName(connector.id, name)}: write one that says who approves it; ` +
            'until then the default decides',
        );
  }
  for (const { path, value: agent } of draft.agents) {
    if (!agent.requireConfirmationForAll) continue;
    const reachable = [
      ...draft.names.tools.map((tool) => tool.name).filter(compileGlobs(agent.tools)),
      ...(agent.model === null ? draft.names.externalTools : []),
    ];
    const bare = reachable.filter((tool) => !isCovered(tool));
    if (bare.length > 0)
      findings.warning(
        [...path, 'requireConfirmationForAll'],
        `is set, and no policy covers ${bare.slice(0, 5).join(', ')}${bare.length > 5 ? ', …' : ''}: ` +
          'write one that says who approves these; until then the default decides',
      );
  }
};

/** What a server lists is not known here, but what its connector says must be asked about is: somebody has to answer. */
function lintServer(
  draft: Draft,
  { path, value: connector }: Entry<McpConnectorConfig>,
  { isCovered, floor }: { isCovered(tool: string): boolean; readonly floor: ResolvedPolicies['floor'] },
  findings: FaultCollector,
): void {
  if (draft.hasDefaultPolicy) return;
  const isUnderFloor = (tool: string): boolean =>
    floor?.value.when === null && floor.value.tools.some((pattern) => globCovers(pattern, tool));
  const flagged: readonly (readonly [ConfigPath, string])[] = [
    ...connector.requiresConfirmation.map((name, index) => [['requiresConfirmation', index], name] as const),
    ...connector.tools.flatMap(({ name, requiresConfirmation }, index) =>
      requiresConfirmation === true ? [[['tools', index, 'requiresConfirmation'], name] as const] : [],
    ),
  ];
  for (const [place, name] of flagged) {
    const tool = fullToolName(connector.id, name);
    if (!isCovered(tool) && !isUnderFloor(tool))
      findings.warning(
        [...path, ...place],
        `asks for a confirmation, and no policy covers ${tool}, so such a call is denied: write one that says who approves it, or a defaultPolicy`,
      );
  }
}
