/** What a hook says it did, for the trace of the run; in the order in which it happened. */
export interface SideEffect {
  readonly hook: string;
  readonly text: string;
}
