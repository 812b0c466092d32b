import { runStatement } from '../test/support/run-statement.ts';

/**
 * Makes of each parked run `copies` more: every row of it that a process could meet, under ids of its own. The events of
 * the record are not copied (only the heads of their chains are, which the next event goes on from), so the record of a
 * copy does not verify.
 */
export async function multiplyParkedRuns(databaseUrl: string, copies: number): Promise<void> {
  await runStatement(databaseUrl, COPIED_ID);
  for (const { table, where, ids, texts = {} } of TABLES) {
    const columns = await runStatement<{ name: string }>(
      databaseUrl,
      `select column_name as name from information_schema.columns
       where table_schema = 'public' and table_name = '${table}'`,
    );
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    const values = columns.map(({ name }) =>
      ids.includes(name) ? `copied_id("${name}", copy)` : (texts[name] ?? `"${name}"`),
    );
    await runStatement(
      databaseUrl,
      // What the copies refer to are copies of what the originals refer to.
      `set session_replication_role = replica;
       insert into ${table} (${names})
       select ${values.join(', ')} from ${table}, generate_series(1, ${copies}) as copy where ${where}`,
    );
  }
  // As the database does by itself after a while, and not in the middle of a measurement.
  await runStatement(databaseUrl, 'vacuum (analyze)');
}

/** A different id of the same kind for each copy, the same wherever it stands. */
const COPIED_ID = `
create function copied_id(id uuid, copy integer) returns uuid language sql immutable as $$
  select overlay(overlay(md5(id::text || copy) placing '7' from 13) placing '8' from 17)::uuid
$$`;

const PARKED = 'select id from runs where parked_at is not null';
const ASKED = `select id from confirmations where run_id in (${PARKED})`;
const SHOWN = `select id from deliveries where confirmation_id in (${ASKED})`;
const ID_AT_END = `'[0-9a-f-]{36}$'`;

interface Table {
  readonly table: string;
  readonly where: string;
  /** Columns that hold an id of what is copied, its own included. */
  readonly ids: readonly string[];
  /** Columns whose text has to differ, or holds such an id. */
  readonly texts?: Readonly<Record<string, string>>;
}

/** In the order of their foreign keys. */
const TABLES: readonly Table[] = [
  {
    table: 'runs',
    where: `id in (${PARKED})`,
    ids: ['id'],
    texts: { session: `session || '-' || copy` },
  },
  { table: 'run_messages', where: `run_id in (${PARKED})`, ids: ['run_id'] },
  { table: 'run_events', where: `run_id in (${PARKED})`, ids: ['run_id'] },
  { table: 'invocations', where: `run_id in (${PARKED})`, ids: ['id', 'run_id', 'confirmation_id'] },
  {
    table: 'confirmations',
    where: `run_id in (${PARKED})`,
    ids: ['id', 'run_id', 'invocation_id'],
    texts: { session: `session || '-' || copy`, idempotency_key: `idempotency_key || '-' || copy` },
  },
  { table: 'explanations', where: `confirmation_id in (${ASKED})`, ids: ['confirmation_id'] },
  {
    table: 'deliveries',
    where: `confirmation_id in (${ASKED})`,
    ids: ['id', 'confirmation_id'],
    texts: { token: `token || '-' || copy` },
  },
  { table: 'rendered_cards', where: `delivery_id in (${SHOWN})`, ids: ['delivery_id'] },
  {
    table: 'audit_chains',
    where: `substring(chain from ${ID_AT_END})::uuid in (${PARKED} union all ${ASKED})`,
    ids: [],
    texts: {
      chain: `regexp_replace(chain, ${ID_AT_END}, copied_id(substring(chain from ${ID_AT_END})::uuid, copy)::text)`,
    },
  },
];
