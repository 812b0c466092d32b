import { sql } from 'drizzle-orm';

/**
 * The time, read once a statement. Compared with a clock that runs on meanwhile, an index bounds nothing, and every row
 * that is not due yet is read.
 */
export const STATEMENT_TIME = sql`(select clock_timestamp())`;
