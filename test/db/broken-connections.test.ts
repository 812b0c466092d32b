import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { type ProxiedConnection, startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

describe('connections that break without a word', () => {
  let proxy: TcpProxy;
  let database: Database;
  /** Decides, chunk by chunk, whether the connection goes silent there. */
  let goesSilent: (sent: string) => boolean;

  beforeEach(async () => {
    goesSilent = () => false;
    const onSent = (sent: string, connection: ProxiedConnection) => goesSilent(sent) && connection.stall();
    proxy = await startTcpProxy(await newPostgresDatabase(), { onSent });
    database = await connectPostgres({ url: proxy.url, poolSize: 1, statementTimeoutMs: 100 });
  });
  afterEach(async () => {
    await database.close();
    await proxy.stop();
  });

  const silentOnce = (mark: string) => {
    let left = 1;
    goesSilent = (sent) => sent.includes(mark) && left-- > 0;
  };
  const one = (work = sql`select 1 as one`) =>
    database.transaction(async (connection) => connection.execute(work));

  it.each(['begin', 'select 1 as one', 'commit'])(
    'take no place in the pool with them when they end at "%s"',
    async (statement) => {
      silentOnce(statement);
      await expect(one()).rejects.toThrow();
      await expect(one()).resolves.toBeDefined();
    },
  );

  it('are not given to anybody else while they may still be inside a transaction', async () => {
    await one(sql`create table things (name text)`);
    silentOnce('rollback');
    await expect(
      database.transaction(async (connection) => {
        await connection.execute(sql`insert into things values ('undone')`);
        throw new Error('changed our mind');
      }),
    ).rejects.toThrow('changed our mind');
    await database.connection.execute(sql`insert into things values ('kept')`);
    const found = await database.connection.execute(sql`select name from things`);
    expect(found).toMatchObject({ rows: [{ name: 'kept' }] });
  });

  it('do not keep a process that stops', async () => {
    await one();
    expect(proxy.stallOpen()).toBe(2);
    const before = performance.now();
    await database.close();
    expect(performance.now() - before).toBeLessThan(5_000);
    database = await connectPostgres({ url: proxy.url });
  });

  it('never make a rollback look like a commit', async () => {
    await one(sql`create table things (name text unique)`);
    const swallowing = database.transaction(async (connection) => {
      await connection.execute(sql`insert into things values ('ours')`);
      await connection.execute(sql`select 1 / 0`).catch(() => {});
    });
    await expect(swallowing).rejects.toThrow('not committed');
  });
});
