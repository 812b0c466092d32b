import type { PolicyConfig, PolicyRule } from './config.ts';
import type { Draft, Entry } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import { resolveRule } from './resolve-rule.ts';

/** The policies with people and channels in the place of their names. */
export interface ResolvedPolicies {
  readonly policies: readonly Entry<PolicyConfig>[];
  readonly defaultPolicy: Entry<PolicyRule> | null;
}

export function resolvePolicies(draft: Draft, collector: FaultCollector): ResolvedPolicies {
  const { defaultPolicy } = draft;
  const somethingIsFlagged =
    draft.connectors.some(({ value }) => value.tools.some((tool) => tool.requiresConfirmation)) ||
    draft.agents.some(({ value }) => value.requireConfirmationForAll);
  return {
    policies: draft.policies.map(({ path, value }) => ({
      path,
      value: {
        id: value.id,
        tools: value.tools,
        when: value.when,
        ...resolveRule(draft, path, value, collector, true),
      },
    })),
    defaultPolicy:
      defaultPolicy === null
        ? null
        : {
            path: defaultPolicy.path,
            value: resolveRule(draft, defaultPolicy.path, defaultPolicy.value, collector, somethingIsFlagged),
          },
  };
}
