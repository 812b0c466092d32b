import { sql } from 'drizzle-orm';
import type { Database } from '../../src/db/database.ts';
import type { ConfirmationId } from '../../src/ids.ts';

/** Lets the time pass in which the old attempt of an unknown outcome might still be sent. */
export async function endOldAttempt(database: Database, id: ConfirmationId): Promise<void> {
  await database.connection.execute(
    sql`update confirmations set settle_from = clock_timestamp(), settle_open = false where id = ${id}`,
  );
}
