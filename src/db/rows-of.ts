import type { SQL } from 'drizzle-orm';
import type { Connection } from './database.ts';

/** Runs one statement and gives its rows; the two drivers wrap them differently. The caller states their shape. */
export async function rowsOf<Row>(connection: Connection, statement: SQL): Promise<readonly Row[]> {
  const result: unknown = await connection.execute(statement);
  return (Array.isArray(result) ? result : (result as { rows: unknown[] }).rows) as readonly Row[];
}
