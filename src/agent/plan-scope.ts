import type { NodeEnd } from './node-end.ts';

/** Where nodes of a plan run: at its top, or in one round of a loop. */
export interface PlanScope {
  /** Before the id of each node: empty at the top, `<loop>[<round>]/` in a loop. With it, a node is itself in each round. */
  readonly path: string;
  /** The same in every round of the loops that repeat. */
  readonly pathOfAnyRound: string;
  readonly signal: AbortSignal;
  /** Of the outermost loop around that may go round again, a signal that does not abort for a new round; null: there is none. */
  readonly repeated: AbortSignal | null;
  /** How a node ended that may be referred to from here. Of a loop that is under way: the round. */
  endOf(node: string): NodeEnd | undefined;
}

/** `a` and `a[0]` for `a[0]/b`, and so on. */
export function loopsAndRoundsAround(path: string): readonly string[] {
  const steps = path.split('/').slice(0, -1);
  return steps.flatMap((_step, depth) => {
    const round = steps.slice(0, depth + 1).join('/');
    return [round.slice(0, round.lastIndexOf('[')), round];
  });
}
