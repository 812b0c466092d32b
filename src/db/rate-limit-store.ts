import { sql } from 'drizzle-orm';
import type { RateLimitPort } from '../hook/hook-ports.ts';
import type { Database } from './database.ts';
import { rowsOf } from './rows-of.ts';
import { rateWindows } from './schema/hooks.ts';

/**
 * Counts calls over a sliding window: in no stretch of time as long as the window are more than `limit` let through,
 * whichever replicas are asked. One statement a question, by the database clock; questions under one key take turns
 * at its row.
 */
export class RateLimitStore implements RateLimitPort {
  readonly #database: Pick<Database, 'connection'>;

  constructor(database: Pick<Database, 'connection'>) {
    this.#database = database;
  }

  async take({ key, limit, windowMs }: Parameters<RateLimitPort['take']>[0]) {
    const window = sql`make_interval(secs => ${windowMs / 1_000}::double precision)`;
    const most = sql`${limit}::integer`;
    // `live` are the calls that still count. The clock is read once, in a sub-select that runs when the row is locked:
    // a question that waited for others is not answered by the time at which it began to wait.
    const [row] = await rowsOf<Answer>(
      this.#database.connection,
      sql`
        insert into ${rateWindows} as kept (key, taken, allowed)
        values (${key}, array[clock_timestamp()], true)
        on conflict (key) do update set (taken, allowed) = (
          select case when cardinality(live) < ${most} then live || at else live end,
                 cardinality(live) < ${most}
          from (select clock_timestamp() as at offset 0) as clock,
               lateral (
                 select array(select t from unnest(kept.taken) as t where t > at - ${window} order by t) as live
               ) as counted
        )
        returning allowed, ceil(extract(epoch from
          taken[cardinality(taken) - ${most} + 1] + ${window} - clock_timestamp()))::integer as seconds`,
    );
    if (!row) throw new Error(`The rate limit "${key}" gave no answer.`);
    if (row.allowed === true) return { allowed: true } as const;
    return { allowed: false, retryAfterSeconds: Math.max(1, row.seconds ?? 1) } as const;
  }
}

interface Answer {
  readonly allowed: boolean;
  /** Until the oldest call that stands in the way no longer counts. */
  readonly seconds: number | null;
}
