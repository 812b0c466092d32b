import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { migrate, pendingMigrations } from '../../src/db/migrate.ts';
import { EMPTY_DATABASES } from '../support/databases.ts';

describe.each(EMPTY_DATABASES)('migrations on $name', ({ open }) => {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });
  afterAll(() => database.close());

  it('bring an empty database to the newest version, once', async () => {
    const { applied } = await migrate(database);
    expect(applied[0]).toBe('0001_confirmations.sql');
    expect(await pendingMigrations(database)).toEqual([]);
    expect(await migrate(database)).toEqual({ applied: [] });
  });

  it('refuse a database that newer code has migrated', async () => {
    await migrate(database);
    await database.connection.execute(sql`insert into migrations (name) values ('9999_from_the_future.sql')`);
    await expect(migrate(database)).rejects.toThrow(/newer Countersign.*9999_from_the_future/);
  });
});
