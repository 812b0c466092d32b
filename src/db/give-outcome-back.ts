import { and, eq, sql } from 'drizzle-orm';
import { type NewAuditEvent, SYSTEM_ACTOR } from '../audit/audit-event.ts';
import type { ConfirmationId } from '../ids.ts';
import type { ConfirmationRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { confirmations } from './schema/confirmations.ts';

/**
 * Of a request that runs a call of unknown outcome again and has just come to nothing: the outcome goes back to the
 * request that it took the place of, whose people may settle it again. In the transaction that ended it, so that no
 * moment has the outcome in nobody's hands. Always from the newer row to the older one: no circle of locks.
 */
export async function giveOutcomeBack(
  connection: Connection,
  ended: ConfirmationRow,
): Promise<{ readonly row: ConfirmationRow; readonly event: NewAuditEvent } | null> {
  if (ended.supersedes === null || ended.runId === null || !cameToNothing(ended)) return null;
  const [reopened] = await connection
    .update(confirmations)
    .set({
      supersededBy: null,
      settledById: null,
      settledByName: null,
      rerunReason: null,
      version: sql`${confirmations.version} + 1`,
    })
    .where(
      and(eq(confirmations.id, ended.supersedes), eq(confirmations.supersededBy, ended.id as ConfirmationId)),
    )
    .returning();
  if (!reopened) return null;
  return {
    row: reopened,
    event: {
      kind: 'outcome.reopened',
      confirmation: reopened.id,
      run: ended.runId,
      actor: SYSTEM_ACTOR,
      data: {
        rerun: ended.id,
        status: ended.status,
        execution: ended.executionStatus,
        argsDigest: reopened.argsDigest,
      },
    },
  };
}

/**
 * It will not run; or it ran and failed, which says nothing of the first attempt. What a person said of it is said of
 * the effect, which is one under the same `Idempotency-Key`.
 */
function cameToNothing({ status, executionStatus, executionSource }: ConfirmationRow): boolean {
  if (status !== 'approved') return status !== 'pending';
  if (executionStatus === 'failed') return executionSource !== 'settlement';
  return executionStatus === 'lapsed' || executionStatus === 'revoked';
}
