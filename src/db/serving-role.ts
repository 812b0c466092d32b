import { sql } from 'drizzle-orm';
import type { Database } from './database.ts';

/** The columns of `audit_events` that are set after the insert, once, by the sequencer. */
export const SEQUENCER_COLUMNS = ['seq', 'prev_hash', 'hash', 'insert_order'] as const;

/**
 * Gives the role that the service runs as what it needs and no more: it appends to the record and numbers it, but can
 * neither change, delete nor truncate what is there. Run as the owner after each migration; running it again changes
 * nothing. Throws where the role does not exist.
 */
export async function grantServingRole(owner: Database, role: string): Promise<void> {
  const to = sql.identifier(role);
  await owner.transaction(async (connection) => {
    const [found] = await connection
      .select({ schema: sql<string>`current_schema()` })
      .from(sql`(values (1)) as one`);
    const schema = sql.identifier(found?.schema ?? 'public');
    const columns = sql.join(
      SEQUENCER_COLUMNS.map((column) => sql.identifier(column)),
      sql`, `,
    );
    for (const statement of [
      sql`grant usage on schema ${schema} to ${to}`,
      sql`grant select, insert, update, delete on all tables in schema ${schema} to ${to}`,
      sql`grant usage, select on all sequences in schema ${schema} to ${to}`,
      sql`revoke update, delete, truncate, references, trigger on audit_events from ${to}`,
      sql`grant update (${columns}) on audit_events to ${to}`,
      // Heads only ever move; what was migrated is the owner's business.
      sql`revoke delete, truncate on audit_chains from ${to}`,
      sql`revoke insert, delete, truncate on audit_head from ${to}`,
      sql`revoke insert, update, delete, truncate on migrations from ${to}`,
    ]) {
      await connection.execute(statement);
    }
  });
}
