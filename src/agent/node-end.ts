import type { JsonValue } from '../json.ts';
import type { RunFailure } from './run-failure.ts';

/** How a node of a plan, or one round of a loop, ended. */
export type NodeEnd =
  | { readonly kind: 'succeeded'; readonly result: JsonValue }
  | { readonly kind: 'skipped' }
  /** Of an evaluation: what depends on it runs, but for what would need its result. */
  | { readonly kind: 'stubbed'; readonly result: JsonValue }
  | FailedEnd;

/** Fails the run, unless a loop around it goes on. */
export interface FailedEnd {
  readonly kind: 'failed';
  readonly error: RunFailure;
  /** The call behind it; null where there is none that could be made again, or done without. */
  readonly cause: FailedCall | null;
}

export interface FailedCall {
  readonly kind: 'blocked' | 'failed';
  readonly code: string;
  /** What a model would be told. */
  readonly observation: JsonValue;
}

/** What the end of a node reads in a result that holds several. */
export const resultShown = (end: NodeEnd | undefined): JsonValue =>
  end !== undefined && 'result' in end ? end.result : { status: 'skipped' };

/** The end of a node whose call, at `path`, was blocked or failed. */
export const failedCall = (path: string, cause: FailedCall): FailedEnd => ({
  kind: 'failed',
  error: {
    code: cause.kind === 'failed' ? 'node_failed' : 'node_blocked',
    message: `Node "${path}" ${cause.kind === 'failed' ? 'failed' : 'was blocked'} (${cause.code}).`,
  },
  cause,
});

export const failedFor = (error: RunFailure): FailedEnd => ({ kind: 'failed', error, cause: null });

/** Withdrawn because another node had failed: whatever that one says is what has to be told. */
export const isWithdrawn = ({ cause }: FailedEnd): boolean =>
  cause?.kind === 'blocked' && cause.code === 'cancelled';
