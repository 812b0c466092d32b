import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';

/** Why a run's requests are cancelled when it ends early: it was cancelled itself, failed, or came to a limit. */
export const RUN_ENDED = 'run_ended';

/** Whether these words are ours and not somebody's: nobody's name stands by them, and the call is one of our runs. */
export const isOfEndedRun = (
  { runId }: Pick<ConfirmationRequest, 'runId'>,
  { by, reason }: { readonly by: PersonRef | null; readonly reason: string | null },
): boolean => runId !== null && by === null && reason === RUN_ENDED;
