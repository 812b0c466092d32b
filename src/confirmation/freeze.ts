import { compileGlobs } from '../glob.ts';
import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';

/** An operator's stop: while it lasts, nothing that its globs match is claimed, or runs without being asked about. */
export interface Freeze {
  /** A UUID, version 7. */
  readonly id: string;
  /** Globs over full tool names; `*` alone is everything. */
  readonly tools: readonly string[];
  readonly reason: string;
  readonly startedAt: Date;
  readonly startedBy: PersonRef;
  /** The first of the two people who end it; null while nobody has asked. */
  readonly endRequested: { readonly at: Date; readonly by: PersonRef } | null;
  readonly ended: { readonly at: Date; readonly by: PersonRef } | null;
}

/** Where freezes are kept. A change is acknowledged only after it holds for every claim that has not committed. */
export interface Freezes {
  start(input: {
    readonly tools: readonly string[];
    readonly reason: string;
    readonly by: PersonRef;
  }): Promise<Freeze>;
  /**
   * One of two people asks for the end. `mayStill` says whether somebody who asked earlier may still unfreeze: one
   * who may not any more does not count.
   */
  end(input: {
    readonly id: string;
    readonly by: PersonRef;
    readonly mayStill: (person: string) => boolean;
  }): Promise<EndFreezeOutcome>;
  /** The newest first; `before` is an id: only older ones. */
  list(filter: {
    readonly active: boolean | null;
    readonly limit: number;
    readonly before: string | null;
  }): Promise<readonly Freeze[]>;
  /** Those that have not ended, the oldest first. */
  active(): Promise<readonly Freeze[]>;
}

export type EndFreezeOutcome =
  /** This person's request is on the record; somebody else has to ask too. */
  | { readonly kind: 'requested'; readonly freeze: Freeze }
  | { readonly kind: 'ended'; readonly freeze: Freeze }
  | { readonly kind: 'not-found' };

/** The freeze that keeps an open request from running, the oldest of several; null for one that is closed or used. */
export function freezeOf(request: ConfirmationRequest, active: readonly Freeze[]): Freeze | null {
  const open =
    request.status === 'pending' ||
    (request.status === 'approved' && request.execution.status === 'unclaimed');
  return (open && active.find(({ tools }) => compileGlobs(tools)(request.tool))) || null;
}
