import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { RateLimitStore } from '../../src/db/rate-limit-store.ts';
import { DATABASES, newPostgresDatabase } from '../support/databases.ts';

const HOUR = 3_600_000;

describe.each(DATABASES)('the rate limit on $name', ({ open }) => {
  let database: Database;
  let store: RateLimitStore;
  beforeAll(async () => {
    database = await open();
    store = new RateLimitStore(database);
  });
  afterAll(() => database.close());

  const take = (key: string, limit = 3, windowMs = HOUR) => store.take({ key, limit, windowMs });
  /** Lets time pass for a key: its counted calls move into the past. */
  const age = (key: string, bySeconds: number) =>
    database.connection.execute(sql`
      update rate_windows
      set taken = array(select t - make_interval(secs => ${bySeconds}::double precision) from unnest(taken) as t order by t)
      where key = ${key}`);

  it('lets as many through as the limit says, then says when the next may come', async () => {
    for (let call = 0; call < 3; call += 1) expect(await take('a')).toEqual({ allowed: true });
    expect(await take('a')).toEqual({ allowed: false, retryAfterSeconds: 3_600 });
    expect(await take('another')).toEqual({ allowed: true });
  });

  it('slides: each call counts for one window, and a refused one counts for nothing', async () => {
    await take('b', 2);
    await age('b', 3_000);
    await take('b', 2);
    for (let call = 0; call < 5; call += 1) {
      expect(await take('b', 2)).toEqual({ allowed: false, retryAfterSeconds: 600 });
    }
    await age('b', 601);
    expect(await take('b', 2)).toEqual({ allowed: true });
    expect(await take('b', 2)).toEqual({ allowed: false, retryAfterSeconds: 2_999 });
  });

  it('keeps to a limit that was lowered', async () => {
    for (let call = 0; call < 4; call += 1) await take('c', 4);
    await age('c', 1_000);
    expect(await take('c', 2)).toEqual({ allowed: false, retryAfterSeconds: 2_600 });
  });

  it('keeps no more of the past than counts', async () => {
    await take('d', 2);
    await take('d', 2);
    await age('d', 4_000);
    await take('d', 2);
    const [row] = await database.connection
      .execute<{ count: number }>(sql`select cardinality(taken) as count from rate_windows where key = 'd'`)
      .then((result) =>
        Array.isArray(result) ? result : (result as unknown as { rows: { count: number }[] }).rows,
      );
    expect(Number(row?.count)).toBe(1);
  });
});

describe('the rate limit across replicas', () => {
  it('lets exactly as many through as the limit says, of many that ask at once', async () => {
    const url = await newPostgresDatabase();
    const replicas = await Promise.all([connectPostgres({ url }), connectPostgres({ url })]);
    await migrate(replicas[0] as Database);
    const stores = replicas.map((replica) => new RateLimitStore(replica));
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          (stores[index % 2] as RateLimitStore).take({ key: `round-${round}`, limit: 17, windowMs: HOUR }),
        ),
      );
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(17);
    }
    await Promise.all(replicas.map((replica) => replica.close()));
  });

  it('answers a question that had to wait by the time at which it is answered', async () => {
    const url = await newPostgresDatabase();
    const database = await connectPostgres({ url });
    await migrate(database);
    const store = new RateLimitStore(database);
    const question = { key: 'held', limit: 1, windowMs: 1_000 };
    await store.take(question);
    const held = await database.transaction(async (transaction) => {
      await transaction.execute(sql`select 1 from rate_windows where key = 'held' for update`);
      const waiting = store.take(question);
      await transaction.execute(sql`select pg_sleep(1.2)`);
      return { waiting };
    });
    expect(await held.waiting).toEqual({ allowed: true });
    await database.close();
  });
});
