import { applyFloor } from '../confirmation/apply-floor.ts';
import { globsOverlap } from '../glob.ts';
import type { PolicyRule } from './config.ts';
import type { Entry } from './draft.ts';
import type { Lint } from './lint-config.ts';

/** Policies of which the floor takes something that they seem to grant. */
export const lintFloor: Lint = ({ resolved }, findings) => {
  const { floor, policies, defaultPolicy } = resolved;
  if (floor === null) return;
  const always = floor.value.when === null;
  const rules: readonly (Entry<PolicyRule> & { readonly tools: readonly string[] })[] = [
    ...policies.map(({ path, value }) => ({ path, value, tools: value.tools })),
    ...(defaultPolicy === null ? [] : [{ ...defaultPolicy, tools: ['*'] }]),
  ];
  for (const { path, value, tools } of rules) {
    if (!tools.some((tool) => floor.value.tools.some((pattern) => globsOverlap(tool, pattern)))) continue;
    const raised = applyFloor(value, floor.value);
    const lost = value.approvers.filter((person) => !raised.approvers.includes(person));
    const where = always ? 'under the floor' : 'where the floor applies';
    if (lost.length > 0)
      findings.warning(
        [...path, 'approvers'],
        `names ${lost.join(', ')}, who may not approve ${where}: name them in \`floor.approvers\` too, or leave them out here`,
      );
    if (value.allowSelfApproval && !raised.allowSelfApproval)
      findings.warning(
        [...path, 'allowSelfApproval'],
        `is set, and the floor refuses it ${always ? 'always' : where}: take it out`,
      );
  }
};
