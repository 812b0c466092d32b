import { sql } from 'drizzle-orm';
import type { Database } from '../../src/db/database.ts';
import type { ConfirmationId } from '../../src/ids.ts';

/** How many closing events the record holds for a request. */
export async function closingEvents(database: Database, id: ConfirmationId): Promise<number> {
  const result = await database.connection.execute(
    sql`select count(*)::int as count from audit_events where confirmation_id = ${id} and kind = 'confirmation.decided'`,
  );
  const [row] = result as unknown as { count: number }[];
  return row?.count ?? 0;
}
