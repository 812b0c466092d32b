import type { NodeEnd } from './node-end.ts';

/** Where nodes of a plan run: at its top, or in one round of a loop. */
export interface PlanScope {
  /** Before the id of each node: empty at the top, `<loop>[<round>]/` in a loop. With it, a node is itself in each round. */
  readonly path: string;
  readonly signal: AbortSignal;
  /** Of the loops around that may go round again; null: there is none. */
  readonly repeated: RepeatedScope | null;
  /** How a node ended that may be referred to from here. Of a loop that is under way: the round. */
  endOf(node: string): NodeEnd | undefined;
}

export interface RepeatedScope {
  /** The path of the outermost of them. */
  readonly loop: string;
  /** Which round it is of each of them, from the outside in. */
  readonly round: string;
  /** Of the outermost, a signal that does not abort for a new round. */
  readonly signal: AbortSignal;
}
