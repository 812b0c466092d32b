import { sql } from 'drizzle-orm';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import type { ConfirmationId } from '../../src/ids.ts';

/** How many closing events the record holds for a request. */
export async function closingEvents(database: Database, id: ConfirmationId): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    database.connection,
    sql`select count(*)::int as count from audit_events where confirmation_id = ${id} and kind = 'confirmation.decided'`,
  );
  return row?.count ?? 0;
}
