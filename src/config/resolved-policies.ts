import type { FloorConfig, PolicyConfig, PolicyRule } from './config.ts';
import type { Draft, Entry } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import { DECIDE_WITHIN_MS, EXECUTE_WITHIN_MS } from './policies-section.ts';
import { resolveRule } from './resolve-rule.ts';

/** The policies with people and channels in the place of their names. */
export interface ResolvedPolicies {
  readonly policies: readonly Entry<PolicyConfig>[];
  readonly defaultPolicy: Entry<PolicyRule> | null;
  readonly floor: Entry<FloorConfig> | null;
}

export function resolvePolicies(draft: Draft, collector: FaultCollector): ResolvedPolicies {
  const { defaultPolicy } = draft;
  const somethingIsFlagged =
    draft.connectors.some(
      ({ value }) => value.kind === 'mcp' || value.tools.some((tool) => tool.requiresConfirmation),
    ) || draft.agents.some(({ value }) => value.requireConfirmationForAll);
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
    floor: draft.floor === null ? null : resolveFloor(draft, draft.floor, collector),
  };
}

/** What requests name as their policy where the floor alone decides them. */
const FLOOR_ID = 'floor';

function resolveFloor(
  draft: Draft,
  { path, value }: NonNullable<Draft['floor']>,
  collector: FaultCollector,
): Entry<FloorConfig> {
  const { tools, when, decideWithin, executeWithin } = value;
  const rule = {
    ...value,
    decideWithin: decideWithin ?? DECIDE_WITHIN_MS,
    executeWithin: executeWithin ?? EXECUTE_WITHIN_MS,
  };
  return {
    path,
    value: {
      ...{ id: FLOOR_ID, tools, when },
      ...resolveRule(draft, path, rule, collector, true),
      limits: { decideWithinMs: decideWithin, executeWithinMs: executeWithin },
    },
  };
}
