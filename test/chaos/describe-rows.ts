import { describe, expect, it } from 'vitest';
import { newPostgresDatabase } from '../support/databases.ts';
import { type ChaosRow, passed } from './row.ts';

/** Runs rows of the fault table as tests, each at its usual volume on a database of its own. */
export function describeRows(title: string, rows: readonly ChaosRow[]): void {
  describe(title, () => {
    it.each(rows.map((row) => [row.id, row.title, row] as const))(
      '%s: %s',
      async (_id, _title, row) => {
        const databaseUrl = await newPostgresDatabase();
        const result = await row.run({ rounds: row.volume.usual, databaseUrl });
        expect(passed(result), JSON.stringify(result)).toBe(true);
      },
      600_000,
    );
  });
}
