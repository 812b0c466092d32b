import { and, eq } from 'drizzle-orm';
import type { ConfirmationRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { invocations } from './schema/runs.ts';
import { storableText } from './storable-json.ts';

/**
 * Shows on the run what a person said became of its call, in their transaction: also where the run is over, or went on
 * without knowing. What its model was told stays as it was.
 */
export async function settleInvocation(
  connection: Connection,
  { invocationId, runId, executionStatus, executionDetail }: ConfirmationRow,
): Promise<void> {
  if (runId === null || invocationId === null) return;
  if (executionStatus !== 'succeeded' && executionStatus !== 'failed') return;
  const failed = executionStatus === 'failed';
  await connection
    .update(invocations)
    .set({
      status: executionStatus,
      errorCode: failed ? 'tool_failed' : null,
      errorMessage: failed ? storableText(executionDetail ?? 'It did not take effect.') : null,
    })
    .where(and(eq(invocations.id, invocationId as never), eq(invocations.status, 'unknown')));
}
