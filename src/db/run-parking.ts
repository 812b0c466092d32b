import { asc, inArray } from 'drizzle-orm';
import type { RunWait } from '../agent/run-waits.ts';
import type { RunId } from '../ids.ts';
import type { ConfirmationRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
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
  return requests !== null && waits.every((wait) => isOpen(wait, requests, delegates));
}

type Request = Pick<
  ConfirmationRow,
  'id' | 'status' | 'executionStatus' | 'executionSource' | 'coolingOff' | 'invocationId'
>;

function isOpen(wait: RunWait, requests: readonly Request[], delegates: ReadonlyMap<RunId, string>): boolean {
  if (wait.kind === 'delegate') return delegates.get(wait.run) === 'waiting';
  if (wait.confirmation === null) return true;
  const request = requests.find(({ id }) => id === wait.confirmation);
  if (request === undefined) return false;
  switch (wait.kind) {
    case 'decision':
      return request.status === 'pending';
    case 'cool-off':
      // The sweeper ends it, and wakes the run by that.
      return request.executionStatus === 'unclaimed' && request.coolingOff;
    case 'settlement':
      // Another request about the same call may have brought its outcome.
      return (
        request.executionStatus === 'unknown' &&
        !requests.some((other) => other.invocationId === request.invocationId && isKnown(other))
      );
  }
}

const isKnown = ({ executionStatus, executionSource }: Request): boolean =>
  executionStatus === 'succeeded' || (executionStatus === 'failed' && executionSource === 'settlement');

/** All requests about the calls that wait. Null where somebody else holds one of them. */
async function lockRequests(
  transaction: Connection,
  waits: readonly RunWait[],
): Promise<readonly Request[] | null> {
  const ids = waits.flatMap((wait) =>
    wait.kind === 'delegate' || wait.confirmation === null ? [] : wait.confirmation,
  );
  if (ids.length === 0) return [];
  const { id, status, executionStatus, executionSource, coolingOff, invocationId } = confirmations;
  const calls = transaction.select({ invocationId }).from(confirmations).where(inArray(id, ids));
  const ofTheseCalls = inArray(invocationId, calls);
  const locked = await transaction
    .select({ id, status, executionStatus, executionSource, coolingOff, invocationId })
    .from(confirmations)
    .where(ofTheseCalls)
    .orderBy(asc(id))
    .for('share', { skipLocked: true });
  return locked.length === (await transaction.$count(confirmations, ofTheseCalls)) ? locked : null;
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
    .where(inArray(runs.id, ids))
    .orderBy(asc(runs.id))
    .for('share', { skipLocked: true });
  return new Map(rows.map((row) => [row.id, row.status]));
}
