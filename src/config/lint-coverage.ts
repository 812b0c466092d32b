import { compileGlobs, globCovers } from '../glob.ts';
import { fullToolName } from './declared-names.ts';
import type { Lint } from './lint-config.ts';

/** Calls that need a confirmation and that no policy names: `defaultPolicy` alone decides them, or the floor. */
export const lintCoverage: Lint = ({ draft, resolved }, findings) => {
  const patterns = resolved.policies.flatMap(({ value }) => value.tools);
  const covered = compileGlobs(patterns);
  for (const { path, value: connector } of draft.connectors)
    for (const [index, { name, requiresConfirmation }] of connector.kind === 'http'
      ? connector.tools.entries()
      : [])
      if (requiresConfirmation && !covered(fullToolName(connector.id, name)))
        findings.warning(
          [...path, 'tools', index, 'requiresConfirmation'],
          `is set, and no policy covers ${fullToolName(connector.id, name)}: write one that says who approves it; ` +
            'until then the default decides',
        );
  for (const { path, value: agent } of draft.agents) {
    if (!agent.requireConfirmationForAll) continue;
    const reachable = [
      ...draft.names.tools.map((tool) => tool.name).filter(compileGlobs(agent.tools)),
      ...(agent.model === null ? draft.names.externalTools : []),
    ];
    const bare = reachable.filter((tool) => !patterns.some((pattern) => globCovers(pattern, tool)));
    if (bare.length > 0)
      findings.warning(
        [...path, 'requireConfirmationForAll'],
        `is set, and no policy covers ${bare.slice(0, 5).join(', ')}${bare.length > 5 ? ', …' : ''}: ` +
          'write one that says who approves these; until then the default decides',
      );
  }
};
