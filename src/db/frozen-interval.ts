import { type SQL, sql } from 'drizzle-orm';

/**
 * A duration that was frozen into a row, in milliseconds, as an interval; null where the JSON has no number there. Looks
 * go over many rows: a cast that fails on a damaged one would end the look for all of them.
 */
export const frozenInterval = (json: SQL): SQL =>
  sql`case when jsonb_typeof(${json}) = 'number' then make_interval(secs => (${json})::numeric::float8 / 1000.0) end`;
