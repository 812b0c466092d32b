import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDue } from '../../src/db/confirmation-reads.ts';
import type { Connection, Database } from '../../src/db/database.ts';
import { createDeliveryOutbox } from '../../src/db/delivery-outbox-store.ts';
import { createReminderOutbox } from '../../src/db/reminder-store.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { channelId } from '../../src/ids.ts';
import { type Core, POLICY, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';

const CHANNEL = channelId('pay-slack');
const WAITING = 2_000;

/** Each process does these once a second or more often, however little there is to do. */
const LOOKS: Readonly<Record<string, (inside: Database) => Promise<unknown>>> = {
  'for cards to send or to change': (inside) =>
    createDeliveryOutbox(inside).claim({ channel: CHANNEL, sends: 8, changes: 8, leaseMs: 1_000 }),
  'for notes to post': (inside) => createReminderOutbox(inside).claim({ channel: CHANNEL }),
  'for requests that nobody was reached with': (inside) => createDeliveryOutbox(inside).unreached(),
  'for requests that time has overtaken': ({ connection }) => readDue(connection, 100),
};

describe(`a process with nothing to do, over ${WAITING} requests that wait with their cards in chats, looks`, () => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await openPostgres();
    core = startCore(database);
    core.policy = { ...POLICY, channels: [CHANNEL], decideWithinMs: 3_600_000 };
    await core.pending();
    const { connection } = database;
    await connection.execute(sql`
      update deliveries set state = 'sent', message_ids = '{1}', has_buttons = true, shown_version = wanted_version,
        next_attempt_at = 'infinity'`);
    await connection.execute(sql`
      with copies as (
        insert into confirmations
        select (jsonb_populate_record(original, jsonb_build_object('id', gen_random_uuid()))).*
        from confirmations as original, generate_series(2, ${WAITING}::integer)
        returning id)
      insert into deliveries
      select (jsonb_populate_record(original, jsonb_build_object(
        'id', gen_random_uuid(), 'confirmation_id', copies.id, 'token', gen_random_uuid()))).*
      from deliveries as original, copies`);
    await connection.execute(sql`analyze`);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  it.each(Object.entries(LOOKS))('%s without reading them', async (_, look) => {
    const read = await database.transaction(async (connection) => {
      const before = await rowsRead(connection);
      await look({ ...database, connection, transaction: (work) => work(connection) });
      return (await rowsRead(connection)) - before;
    });
    expect(read).toBeLessThan(WAITING / 10);
  });
});

/** Of all tables, by this connection, since it last told the server. */
async function rowsRead(connection: Connection): Promise<number> {
  const [row] = await rowsOf<{ read: number }>(
    connection,
    sql`select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as read from pg_stat_xact_user_tables`,
  );
  return row?.read ?? Number.NaN;
}
