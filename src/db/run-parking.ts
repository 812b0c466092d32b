import { asc } from 'drizzle-orm';
import type { RunWait } from '../agent/run-waits.ts';
import type { ConfirmationId, RunId } from '../ids.ts';
import type { ConfirmationRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { isAnyOf } from './is-any-of.ts';
import { confirmations } from './schema/confirmations.ts';
import { runs } from './schema/runs.ts';

/**
 * Whether none of these waits has ended, with everything they depend on locked until the end of the transaction: what
 * would end one of them comes before, and is seen here, or after, and finds the run as this transaction leaves it.
 * Waits for no lock: what somebody else holds may be ending, and the run can be parked another time.
 */
export async function areWaitedFor(transaction: Connection, waits: readonly RunWait[]): Promise<boolean> {
  const requests = await lockRequests(transaction, waits);
  const delegates = await lockDelegates(transaction, waits);
  return waits.every((wait) => {
    if (wait.kind === 'delegate') return delegates.get(wait.run) === 'waiting';
    if (wait.confirmation === null) return true;
    const row = requests.get(wait.confirmation);
    return row !== undefined && isOpen(wait.kind, row);
  });
}

type Standing = Pick<ConfirmationRow, 'status' | 'executionStatus' | 'coolingOff' | 'supersededBy'>;

function isOpen(kind: Exclude<RunWait['kind'], 'delegate'>, row: Standing): boolean {
  switch (kind) {
    case 'decision':
      return row.status === 'pending';
    case 'cool-off':
      // The sweeper ends it, and wakes the run by that.
      return row.executionStatus === 'unclaimed' && row.coolingOff;
    case 'settlement':
      // The request in whose hands the outcome is: the call's own, or one that runs it again, from its question on.
      return row.supersededBy === null && (row.status === 'pending' || UNSETTLED.has(row.executionStatus));
  }
}

const UNSETTLED: ReadonlySet<ConfirmationRow['executionStatus']> = new Set([
  'unclaimed',
  'claimed',
  'unknown',
]);

/** Those of the requests that nobody else holds. */
async function lockRequests(
  transaction: Connection,
  waits: readonly RunWait[],
): Promise<ReadonlyMap<ConfirmationId, Standing>> {
  const ids = waits.flatMap((wait) =>
    wait.kind === 'delegate' || wait.confirmation === null ? [] : wait.confirmation,
  );
  if (ids.length === 0) return new Map();
  const { id, status, executionStatus, coolingOff, supersededBy } = confirmations;
  const rows = await transaction
    .select({ id, status, executionStatus, coolingOff, supersededBy })
    .from(confirmations)
    .where(isAnyOf(id, ids))
    .orderBy(asc(id))
    .for('share', { skipLocked: true });
  return new Map(rows.map((row) => [row.id as ConfirmationId, row]));
}

async function lockDelegates(
  transaction: Connection,
  waits: readonly RunWait[],
): Promise<ReadonlyMap<RunId, string>> {
  const ids = waits.flatMap((wait) => (wait.kind === 'delegate' ? [wait.run] : []));
  if (ids.length === 0) return new Map();
  const rows = await transaction
    .select({ id: runs.id, status: runs.status })
    .from(runs)
    .where(isAnyOf(runs.id, ids))
    .orderBy(asc(runs.id))
    .for('share', { skipLocked: true });
  return new Map(rows.map((row) => [row.id, row.status]));
}
