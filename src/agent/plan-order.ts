import { isLoop, type PlanNode, withInner } from './plan.ts';

const ROUND = /^(.*)\[(\d+)\]$/s;

/**
 * Compares calls of a plan by their paths (`pay`, `each[2]/pay`): as the plan lists their nodes, and in a loop round by
 * round.
 */
export function orderOfCalls(plan: readonly PlanNode[]): (one: string, other: string) => number {
  const nodes = plan.flatMap(withInner);
  const places = new Map(nodes.map(({ id }, index) => [id, index]));
  const placeOf = (id: string) => places.get(id) ?? nodes.length;
  const hasLoops = nodes.some(isLoop);
  const placesOf = (path: string): number[] => {
    if (!hasLoops) return [placeOf(path)];
    return path.split('/').flatMap((step) => {
      const [, loop, round] = ROUND.exec(step) ?? [];
      return loop === undefined ? [placeOf(step)] : [placeOf(loop), Number(round)];
    });
  };
  return (one, other) => {
    const others = placesOf(other);
    for (const [depth, place] of placesOf(one).entries()) {
      const difference = place - (others[depth] ?? -1);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}
