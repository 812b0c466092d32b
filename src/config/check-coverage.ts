import { compileGlobs } from '../glob.ts';
import { fullToolName } from './declared-names.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';

/** What has to be confirmed has to be confirmed by somebody: a policy that always matches, `defaultPolicy`, or the floor. */
export function checkCoverage(draft: Draft, collector: FaultCollector): void {
  if (draft.hasDefaultPolicy) return;
  const covered = compileGlobs(
    [...draft.policies, ...(draft.floor === null ? [] : [draft.floor])].flatMap(({ value }) =>
      value.when === null ? value.tools : [],
    ),
  );
  for (const { path, value: connector } of draft.connectors) {
    // What a server lists is known when it does; a tool of it that nobody answers for is denied then.
    if (connector.kind === 'mcp') continue;
    for (const [index, tool] of connector.tools.entries())
      if (tool.requiresConfirmation && !covered(fullToolName(connector.id, tool.name)))
        collector.fault(
          [...path, 'tools', index, 'requiresConfirmation'],
          'needs a policy without `when` that covers the tool, or a defaultPolicy',
        );
  }
  for (const { path, value: agent } of draft.agents)
    if (agent.requireConfirmationForAll)
      collector.fault([...path, 'requireConfirmationForAll'], 'needs a defaultPolicy');
}
