import { globCovers, globsOverlap } from '../glob.ts';
import type { PolicyConfig } from './config.ts';
import type { Draft } from './draft.ts';
import type { Lint } from './lint-config.ts';

/** Rules, or some of their patterns, that an earlier one leaves nothing to: it covers the same tools and always matches. */
export const lintShadows: Lint = ({ draft, resolved }, findings) => {
  for (const [index, { path, value }] of resolved.policies.entries()) {
    const earlier = resolved.policies.slice(0, index).map((entry) => entry.value);
    const shadows = value.tools.map((pattern) => shadowOf(pattern, value, earlier, draft));
    const [first] = shadows;
    if (first !== undefined && shadows.every((shadow) => shadow !== null)) {
      const by = [...new Set(shadows)].join(', ');
      findings.warning(
        path,
        `never decides: ${by} comes first and decides every call of these tools; ` +
          'move this policy before it, or take it out',
      );
      continue;
    }
    for (const [at, shadow] of shadows.entries())
      if (shadow !== null)
        findings.warning(
          [...path, 'tools', at],
          `never counts: ${shadow} comes first and decides every call of it; move this policy before it, or take the pattern out`,
        );
  }
};

/** Ids of the earlier policies that together decide every call of the pattern; null where they do not. */
function shadowOf(
  pattern: string,
  { when }: PolicyConfig,
  earlier: readonly PolicyConfig[],
  { names }: Draft,
): string | null {
  // What matches under the same condition matches there first.
  const taking = earlier.filter((other) => other.when === null || other.when === when);
  const takerOf = (narrow: string): string | undefined =>
    taking.find(({ tools }) => tools.some((broad) => globCovers(broad, narrow)))?.id;
  const whole = takerOf(pattern);
  if (whole !== undefined) return whole;
  // The names that the pattern can meet: connectors' tools one by one, outside agents' by their patterns.
  const tools = names.tools.flatMap(({ name }) => (globsOverlap(pattern, name) ? [name] : []));
  const outside = names.externalTools.filter((external) => globsOverlap(pattern, external));
  const takers = [...tools, ...outside].map(takerOf);
  return takers.length > 0 && takers.every((taker) => taker !== undefined)
    ? [...new Set(takers)].join(', ')
    : null;
}
