import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createAuditReader } from '../../src/db/audit-reader.ts';
import { AuditSequencer } from '../../src/db/audit-sequencer.ts';
import type { Connection, Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { openPostgres } from '../support/databases.ts';
import { requestPayment, writeSampleRecord } from './sample-record.ts';
import type { Row } from './tampering.ts';
import { TAMPERINGS } from './tampering.ts';

/** F23 asks for a hundred; every kind of tampering is among them at least twice. */
const ROUNDS = 110;
const ROLLED_BACK = new Error('rolled back');

describe('a superuser who tampers with the record, triggers switched off', () => {
  let database: Database;
  let rows: readonly Row[];

  beforeAll(async () => {
    database = await openPostgres();
    await writeSampleRecord(database, 8);
    const sequencer = new AuditSequencer({
      database,
      clock: systemClock,
      onError: (error) => {
        throw error;
      },
    });
    await sequencer.sequence();
    const found = await rowsOf<Omit<Row, 'seq'> & { seq: string }>(
      database.connection,
      sql`select id, seq, kind, chain, confirmation_id as confirmation, hash from audit_events order by seq`,
    );
    rows = found.map((row) => ({ ...row, seq: Number(row.seq) }));
  });
  afterAll(() => database.close());

  /** Tampers and verifies in one transaction that is rolled back, so that each round starts from a whole record. */
  async function inVain<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const results: T[] = [];
    const attempt = database.transaction(async (connection) => {
      await connection.execute(sql`set local session_replication_role = replica`);
      results.push(await work(connection));
      throw ROLLED_BACK;
    });
    await attempt.catch((error) => {
      if (error !== ROLLED_BACK) throw error;
    });
    return results[0] as T;
  }

  const verify = (connection: Connection) =>
    createAuditReader({ ...database, notifier: database.notifier, connection }).verify();

  it('leaves a whole record alone: it verifies', async () => {
    expect(await createAuditReader(database).verify()).toMatchObject({ ok: true, events: rows.length });
  });

  const table = Array.from({ length: ROUNDS }, (_, round) => ({
    round,
    tampering: TAMPERINGS[round % TAMPERINGS.length],
  }));

  it.each(table)('round $round is found: $tampering.name', async ({ round, tampering }) => {
    const { expected, verification } = await inVain(async (connection) => ({
      expected: await tampering?.apply({ connection, rows, random: seededRandom(round + 1) }),
      verification: await verify(connection),
    }));
    expect(expected).toBeDefined();
    const firstBad: Record<string, unknown> = { seq: expected?.seq };
    if (expected?.confirmation !== undefined && expected.seq === null)
      firstBad.confirmation = expected.confirmation;
    expect(verification).toMatchObject({ ok: false, firstBad });
  });

  it('is found out for an event that has no number yet: changed, deleted, or made to overtake', async () => {
    const { id } = await requestPayment(database);
    const chain = `confirmation:${id}`;
    const changes = [
      sql`update audit_events set actor_name = 'Mallory' where chain = ${chain}`,
      sql`delete from audit_events where chain = ${chain}`,
      sql`update audit_chains set length = 2 where chain = ${chain}`,
    ];
    for (const change of changes) {
      const verification = await inVain(async (connection) => {
        await connection.execute(change);
        return verify(connection);
      });
      expect(verification).toMatchObject({ ok: false, firstBad: { seq: null, confirmation: id } });
    }
    const last = rows.findLast((row) => row.chain.startsWith('run:'));
    const overtaken = await inVain(async (connection) => {
      await connection.execute(sql`
        update audit_events set seq = null, prev_hash = null, hash = null, insert_order = 1
        where chain = ${last?.chain} and request_seq = 1`);
      return verify(connection);
    });
    expect(overtaken).toMatchObject({ ok: false });
    expect(await verify(database.connection)).toMatchObject({ ok: true });
  });
});

/** A small linear congruential generator (Numerical Recipes' constants): the same rounds in every run. */
function seededRandom(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
