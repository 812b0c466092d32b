import type { Clock } from '../clock.ts';
import type { CallScope, ProposedCall, SettledCall } from './call-scope.ts';
import type { ChatMessage } from './chat-message.ts';
import type { RunFailure } from './run-failure.ts';
import type { RunEnd, RunProgress, RunRecord, StoredInvocation } from './run-record.ts';
import type { SpokenPiece } from './spoken-answer.ts';

/** One way of working through a run. Both start where the rows say the work stands. */
export interface Executor {
  /** Resolves with how the run ends. Throws where it has to be taken up again (`RunStop`, `LeaseLost`, a fault). */
  run(work: RunWork): Promise<RunEnd>;
}

export interface RunWork {
  readonly progress: RunProgress;
  readonly record: RunRecord;
  readonly scope: CallScope;
  readonly clock: Clock;
  /**
   * Puts messages on record, and what the model said that was not told yet; a momentary fault of the database must not cost
   * an answer that was paid for.
   */
  keep(messages: readonly ChatMessage[], spoken?: SpokenPiece | null): Promise<void>;
  /** Makes a call, or takes it up where an earlier worker left it. The only way to any tool. */
  call(proposed: ProposedCall, stored: StoredInvocation | null, signal: AbortSignal): Promise<SettledCall>;
}

export const failedRun = (code: RunFailure['code'], message: string): RunEnd => ({
  status: 'failed',
  output: null,
  error: { code, message },
});
