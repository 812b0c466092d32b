import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

describe('the sweeper', () => {
  let database: Database;
  let other: Database;
  let core: Core;

  beforeAll(async () => {
    const url = await newPostgresDatabase();
    database = await connectPostgres({ url });
    other = await connectPostgres({ url, listen: false });
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await Promise.all([database.close(), other.close()]);
  });

  const hold = (id: string, until: Promise<void>, idleTimeout: string | null = null) =>
    new Promise<{ readonly ended: Promise<void> }>((resolve) => {
      const ended = other
        .transaction(async (connection) => {
          await connection.execute(sql`select 1 from confirmations where id = ${id} for update`);
          if (idleTimeout !== null)
            await connection.execute(
              sql.raw(`set local idle_in_transaction_session_timeout = '${idleTimeout}'`),
            );
          resolve({ ended });
          await until;
        })
        .catch(() => {});
    });

  it('expires every other request while somebody holds one', async () => {
    core.policy = { ...POLICY, decideWithinMs: 50 };
    const ids = [await core.pending(), await core.pending(), await core.pending()];
    core.policy = POLICY;
    const [held, ...others] = ids;
    let letGo = () => {};
    const { ended } = await hold(
      held ?? '',
      new Promise((resolve) => {
        letGo = resolve;
      }),
    );
    await until(async () => (await core.ledger.due(10)).toExpire.length === 3);
    expect(await core.sweeper.sweep()).toBe(2);
    for (const id of others) expect((await core.service.get(id))?.status).toBe('expired');
    letGo();
    await ended;
    expect(await core.sweeper.sweep()).toBe(1);
  });

  it('is not kept out for ever by a process that stands still inside its transaction', async () => {
    const [setting] = await rowsOf<Record<string, string>>(
      other.connection,
      sql`show idle_in_transaction_session_timeout`,
    );
    expect(setting).toEqual({ idle_in_transaction_session_timeout: '10s' });
    const id = await core.pending();
    let wakeUp = () => {};
    const { ended } = await hold(
      id,
      new Promise((resolve) => {
        wakeUp = resolve;
      }),
      // What the server does at the end of ten seconds it does at the end of three.
      '3s',
    );
    const vote = () =>
      core.service
        .decide({
          id,
          person: person('li.wei'),
          verdict: 'approve',
          reason: null,
          argsDigest: null,
          surface: { kind: 'api' },
        })
        .then(
          ({ kind }) => kind,
          () => 'not recorded',
        );
    await expect(
      database.connection.execute(sql`select 1 from confirmations where id = ${id} for update nowait`),
    ).rejects.toThrow();
    await until(async () => (await vote()) === 'recorded', { deadlineMs: 15_000 });
    wakeUp();
    await ended;
  }, 20_000);
});
