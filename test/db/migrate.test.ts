import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { migrate, pendingMigrations } from '../../src/db/migrate.ts';
import { DATABASES } from '../support/databases.ts';

describe.each(DATABASES)('migrations on $name', ({ open }) => {
  it('bring an empty database to the newest version, once', async () => {
    const database = await open();
    expect(await pendingMigrations(database)).toEqual([]);
    expect(await migrate(database)).toEqual({ applied: [] });
    await database.close();
  });

  it('refuse a database that newer code has migrated', async () => {
    const database = await open();
    await database.connection.execute(sql`insert into migrations (name) values ('9999_from_the_future.sql')`);
    await expect(migrate(database)).rejects.toThrow(/newer Countersign.*9999_from_the_future/);
    await database.close();
  });
});
