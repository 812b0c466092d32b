import type { SQL } from 'drizzle-orm';
import type { Connection } from './database.ts';

/** Runs one statement and gives its rows. The caller states their shape. */
export async function rowsOf<Row>(connection: Connection, statement: SQL): Promise<readonly Row[]> {
  const { rows } = (await connection.execute(statement)) as unknown as { readonly rows: readonly Row[] };
  return rows;
}
