import { type SQL, sql } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';

/**
 * Whether a column of ids holds one of these. The list is one parameter, so that the statement has the same text for
 * any number of them: `in ($1, $2)` is another statement to prepare for each length, and the names for prepared ones
 * are few (`prepared-client.ts`).
 */
export const isAnyOf = (column: AnyPgColumn, ids: readonly string[]): SQL =>
  sql`${column} = any(${sql.param([...ids])}::uuid[])`;
