import { and, asc, eq, gt, or, sql } from 'drizzle-orm';
import type { FreezeCardPort } from '../confirmation/freeze-cards.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Connection, Database } from './database.ts';
import { wantVersion } from './delivery-store.ts';
import { isAnyOf } from './is-any-of.ts';
import { confirmations } from './schema/confirmations.ts';
import { freezes } from './schema/freezes.ts';
import { STATEMENT_TIME } from './statement-time.ts';

/** How long a process has for one freeze's cards before another one takes them over. */
const LEASE = sql`interval '30 seconds'`;

const OPEN = or(
  eq(confirmations.status, 'pending'),
  and(eq(confirmations.status, 'approved'), eq(confirmations.executionStatus, 'unclaimed')),
);

/**
 * Which cards a freeze has changed. Requests get a new version in small transactions of their own; doing one twice
 * costs a drawing and changes nothing else, so a process may die anywhere in between.
 */
export function createFreezeCardStore(database: Database, batch = 100): FreezeCardPort {
  const { connection } = database;
  return {
    async takeDue() {
      const [row] = await connection
        .update(freezes)
        .set({ cardsDueAt: sql`date_trunc('milliseconds', clock_timestamp()) + ${LEASE}` })
        .where(
          sql`${freezes.id} = (select due.id from ${freezes} as due where due.cards_due_at <= ${STATEMENT_TIME}
            order by due.cards_due_at limit 1 for update skip locked)`,
        )
        .returning({ id: freezes.id, tools: freezes.tools, lease: freezes.cardsDueAt });
      return row?.lease ? { ...row, lease: row.lease } : null;
    },

    async refreshBatch({ tools, after }) {
      const patterns = tools.map(likePattern);
      const found = await connection
        .select({ id: confirmations.id })
        .from(confirmations)
        .where(
          and(
            OPEN,
            sql`${confirmations.tool} like any(${sql.param(patterns)}::text[])`,
            after === null ? undefined : gt(confirmations.id, after),
          ),
        )
        .orderBy(asc(confirmations.id))
        .limit(batch);
      const ids = found.map(({ id }) => id as ConfirmationId);
      const changed = await database.transaction((inside) => refresh(inside, ids));
      for (const id of changed) await database.notifier.notify('confirmation', id).catch(() => {});
      return ids.length < batch ? null : (ids.at(-1) ?? null);
    },

    async done({ id, lease }) {
      // A freeze that ended meanwhile is due again, at another time.
      await connection
        .update(freezes)
        .set({ cardsDueAt: null })
        .where(and(eq(freezes.id, id), eq(freezes.cardsDueAt, lease)));
    },
  };
}

async function refresh(connection: Connection, ids: readonly ConfirmationId[]): Promise<ConfirmationId[]> {
  if (ids.length === 0) return [];
  // In the order of their ids, so that two processes that meet here never wait for each other.
  await connection
    .select({ id: confirmations.id })
    .from(confirmations)
    .where(isAnyOf(confirmations.id, ids))
    .orderBy(asc(confirmations.id))
    .for('update');
  const rows = await connection
    .update(confirmations)
    .set({ version: sql`${confirmations.version} + 1` })
    .where(and(isAnyOf(confirmations.id, ids), OPEN))
    .returning({ id: confirmations.id, version: confirmations.version });
  for (const { id, version } of rows) await wantVersion(connection, id as ConfirmationId, version);
  return rows.map(({ id }) => id as ConfirmationId);
}

/** A glob as SQL's `like` has it. */
const likePattern = (glob: string): string =>
  glob.replaceAll(/[\\%_]/g, (special) => `\\${special}`).replaceAll('*', '%');
