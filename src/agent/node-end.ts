import type { JsonValue } from '../json.ts';
import type { RunFailure } from './run-failure.ts';
import { truncateText } from './truncate-text.ts';

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

/** The end of a node whose call, at `path`, was blocked or failed; with what a person wrote, for whoever called the agent. */
export function failedCall(path: string, cause: FailedCall): FailedEnd {
  const reason = reasonIn(cause.observation);
  const quoted =
    reason === null ? '' : ` The reason given: ${JSON.stringify(truncateText(reason, LONGEST_REASON))}`;
  const code = cause.kind === 'failed' ? 'node_failed' : 'node_blocked';
  const what = cause.kind === 'failed' ? 'failed' : 'was blocked';
  return {
    kind: 'failed',
    error: { code, message: `Node "${path}" ${what} (${cause.code}).${quoted}` },
    cause,
  };
}

/** In UTF-16 units. */
const LONGEST_REASON = 2_000;

/** What a person wrote to a call that was blocked; null where nobody did. */
export function reasonIn(observation: JsonValue): string | null {
  if (typeof observation !== 'object' || observation === null || Array.isArray(observation)) return null;
  return typeof observation.reason === 'string' ? observation.reason : null;
}

export const failedFor = (error: RunFailure): FailedEnd => ({ kind: 'failed', error, cause: null });

/**
 * Of several that failed side by side, the one that says what becomes of the whole; null where none did. The same one
 * after a restart, when nobody knows any more which was first: what cannot be made again or done without, then a call
 * that failed, then one that a person rejected, then one that was blocked otherwise; and the first of `inOrder` among
 * equals. What was withdrawn comes last, since it may be because of the others.
 */
export function gravestOf(inTime: readonly FailedEnd[], inOrder: readonly NodeEnd[]): FailedEnd | null {
  let gravest: FailedEnd | null = null;
  for (const end of inOrder) {
    if (end.kind === 'failed' && gravityOf(end) > (gravest === null ? 0 : gravityOf(gravest))) gravest = end;
  }
  return gravest ?? inTime[0] ?? null;
}

function gravityOf({ cause }: FailedEnd): number {
  if (cause === null) return 4;
  if (cause.code === 'cancelled' || cause.code === 'revoked') return 0;
  if (cause.kind === 'failed') return 3;
  return cause.code === 'rejected' ? 2 : 1;
}
