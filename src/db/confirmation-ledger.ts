import { and, eq, isNotNull, sql } from 'drizzle-orm';
import type { ConfirmationLedger } from '../confirmation/ledger.ts';
import type { ConfirmationId } from '../ids.ts';
import { createAbandonedCallers } from './abandoned-callers.ts';
import { readClosed, readConfirmation, readDue, readPage } from './confirmation-reads.ts';
import { openLedgerTransaction } from './confirmation-transaction.ts';
import type { Database } from './database.ts';
import { readExplanation } from './explanation-store.ts';
import { readControls } from './gate-controls.ts';
import { jsonb } from './jsonb.ts';
import { confirmations } from './schema/confirmations.ts';
import { invocations } from './schema/runs.ts';

/** The ledger over drizzle, the same on PostgreSQL and on the embedded database. */
export function createConfirmationLedger(input: {
  readonly database: Database;
  /** Told when a notification after a commit could not be sent; the poll makes up for it. */
  readonly onNotifyFailed: (error: unknown) => void;
  /** Told of each request that a list had to leave out, once. */
  readonly onUnreadable: (error: unknown) => void;
}): ConfirmationLedger {
  const { database, onNotifyFailed, onUnreadable } = input;
  const reported = new Set<ConfirmationId>();
  const { connection, notifier } = database;
  const abandonedCallers = createAbandonedCallers(connection);

  /** One notification wakes waiters, delivery workers and the sequencer alike. Nobody waits for it to be sent. */
  function notifyAfterCommit(changed: ReadonlySet<ConfirmationId>) {
    for (const id of changed) notifier.notify('confirmation', id).catch(onNotifyFailed);
  }

  return {
    find: (id) => readConfirmation(connection, id),
    findClosed: (ids) => readClosed(connection, ids),
    async findByIdempotencyKey(apiKeyId, key) {
      const [row] = await connection
        .select({ id: confirmations.id, bodyDigest: confirmations.bodyDigest })
        .from(confirmations)
        .where(and(eq(confirmations.apiKeyId, apiKeyId), eq(confirmations.idempotencyKey, key)));
      return row ? { id: row.id as ConfirmationId, bodyDigest: row.bodyDigest ?? '' } : null;
    },
    explanationOf: (id) => readExplanation(connection, id),
    async wasRejected({ run, tool, args }) {
      const { runId, tool: name, args: asked, errorCode, confirmationId } = invocations;
      const rows = await connection
        .select({ id: invocations.id })
        .from(invocations)
        .where(
          and(
            ...[eq(runId, run), eq(name, tool), eq(errorCode, 'rejected'), isNotNull(confirmationId)],
            sql`${asked} = ${jsonb(args)}`,
          ),
        )
        .limit(1);
      return rows.length > 0;
    },
    async switchedCallOf(id) {
      const [row] = await connection
        .select({ writes: confirmations.toolWrites, connector: confirmations.connector })
        .from(confirmations)
        .where(eq(confirmations.id, id));
      return row ?? null;
    },
    async list(filter) {
      const { unreadable, ...page } = await readPage(connection, filter);
      for (const error of unreadable) {
        if (reported.has(error.id)) continue;
        reported.add(error.id);
        onUnreadable(error);
      }
      return page;
    },
    controls: () => readControls(connection, { share: false }),
    async due(limit) {
      const due = await readDue(connection, limit);
      return { ...due, toUnknown: [...due.toUnknown, ...(await abandonedCallers(limit))] };
    },
    async transact(work, options) {
      const changed = new Set<ConfirmationId>();
      const result = await database.transaction(async (inside) => {
        const { transaction, flush } = openLedgerTransaction(inside, changed);
        const outcome = await work(transaction);
        await flush();
        return outcome;
      }, options);
      notifyAfterCommit(changed);
      return result;
    },
  };
}
