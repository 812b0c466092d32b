import { describe, expect, it } from 'vitest';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import { migrate } from '../../src/db/migrate.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { passed } from './row.ts';
import { CHAOS_ROWS } from './rows/index.ts';

describe('the fault table, at its usual volume', () => {
  it.each(CHAOS_ROWS.map((row) => [row.id, row.title, row] as const))(
    '%s: %s',
    async (_id, _title, row) => {
      const databaseUrl = await newPostgresDatabase();
      const database = await connectPostgres({ url: databaseUrl });
      await migrate(database);
      await database.close();
      const result = await row.run({ rounds: row.volume.usual, databaseUrl });
      expect(passed(result), JSON.stringify(result)).toBe(true);
    },
    600_000,
  );
});
