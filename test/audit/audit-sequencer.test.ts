import { count, isNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createAuditReader } from '../../src/db/audit-reader.ts';
import { AuditSequencer } from '../../src/db/audit-sequencer.ts';
import { appendAuditEvents, createAuditRecorder } from '../../src/db/audit-store.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { newRunId } from '../../src/ids.ts';
import { DATABASES, newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { event, requestPayment, writeSampleRecord } from './sample-record.ts';

const failOnError = (error: unknown) => {
  throw error;
};
const sequencerOf = (database: Database) =>
  new AuditSequencer({ database, clock: systemClock, onError: failOnError });

const unsequenced = async (database: Database) =>
  (await database.connection.select({ count: count() }).from(auditEvents).where(isNull(auditEvents.seq)))[0]
    ?.count ?? 0;

describe.each(DATABASES)('the sequencer on $name', ({ open }) => {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });
  afterAll(() => database.close());

  it('numbers the log without a gap, in batches, and the record verifies', async () => {
    await writeSampleRecord(database, 6);
    const total = await unsequenced(database);
    const sequencer = new AuditSequencer({
      database,
      clock: systemClock,
      onError: failOnError,
      batchSize: 7,
    });
    expect(await sequencer.sequence()).toBe(total);
    expect(await sequencer.sequence()).toBe(0);
    const verification = await createAuditReader(database).verify();
    expect(verification).toMatchObject({ ok: true, events: total, head: { seq: total } });
  });

  it('is woken by a recorded event long before its poll', async () => {
    const sequencer = new AuditSequencer({
      database,
      clock: systemClock,
      onError: failOnError,
      pollIntervalMs: 3_600_000,
    });
    sequencer.start();
    await until(async () => (await unsequenced(database)) === 0);
    await createAuditRecorder(database).record(event('read_only.changed', null, {}));
    await until(async () => (await unsequenced(database)) === 0);
    await sequencer.stop();
  });

  it('finds by its poll what nobody told it of, and nothing more once it is stopped', async () => {
    const due: (() => void)[] = [];
    const clock = {
      ...systemClock,
      setTimer: (_delayMs: number, run: () => void) => {
        due.push(run);
        return () => {};
      },
    };
    const sequencer = new AuditSequencer({ database, clock, onError: failOnError });
    sequencer.start();
    await until(() => due.length === 1);
    await requestPayment(database);
    await until(async () => {
      due.shift()?.();
      return (await unsequenced(database)) === 0;
    });
    await sequencer.stop();
    await requestPayment(database);
    for (const run of due.splice(0)) run();
    await sequencer.stop();
    expect(await unsequenced(database)).toBe(1);
  });

  it('reports a failure and tries again at the next poll', async () => {
    const errors: unknown[] = [];
    const due: (() => void)[] = [];
    const clock = {
      ...systemClock,
      setTimer: (_delayMs: number, run: () => void) => {
        due.push(run);
        return () => {};
      },
    };
    let broken = true;
    const flaky: Database = {
      ...database,
      notifier: database.notifier,
      transaction: (work) =>
        broken ? Promise.reject(new Error('connection lost')) : database.transaction(work),
    };
    const sequencer = new AuditSequencer({
      database: flaky,
      clock,
      onError: (error) => errors.push(error),
    });
    await requestPayment(database);
    sequencer.start();
    await until(() => due.length === 1);
    expect(errors).toEqual([new Error('connection lost')]);
    broken = false;
    await until(async () => {
      due.shift()?.();
      return (await unsequenced(database)) === 0;
    });
    await sequencer.stop();
  });

  it('works off thousands of events in a few seconds', async () => {
    const run = newRunId();
    const batches = database.kind === 'postgres' ? 10 : 2;
    for (let batch = 0; batch < batches; batch += 1) {
      await database.transaction((connection) =>
        appendAuditEvents(
          connection,
          Array.from({ length: 1_000 }, (_, index) => ({
            ...event('tool.executed', null, { index }),
            run: index % 2 === 0 ? run : newRunId(),
          })),
        ),
      );
    }
    const started = performance.now();
    expect(await sequencerOf(database).sequence()).toBe(batches * 1_000);
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(await createAuditReader(database).verify()).toMatchObject({ ok: true });
  });
});

describe('sequencers of several replicas', () => {
  it('make one gapless chain while eight writers append to shared and separate chains', async () => {
    const url = await newPostgresDatabase();
    const replicas = await Promise.all([connectPostgres({ url }), connectPostgres({ url })]);
    const [database] = replicas;
    await migrate(database);
    const sequencers = replicas.map(
      (replica) =>
        new AuditSequencer({
          database: replica,
          clock: systemClock,
          onError: failOnError,
          pollIntervalMs: 5,
          batchSize: 20,
        }),
    );
    for (const sequencer of sequencers) sequencer.start();
    const sharedRuns = Array.from({ length: 5 }, newRunId);
    const verifications: Promise<unknown>[] = [];
    const writer = async (index: number) => {
      for (let round = 0; round < 60; round += 1) {
        const replica = replicas[index % 2] ?? database;
        // Out of order on purpose: the store has to lock the chains in one order.
        const shared = sharedRuns[(index * 7 + round) % 5] ?? null;
        const other = sharedRuns[(index * 3 + round * 2) % 5] ?? null;
        await replica.transaction((connection) =>
          appendAuditEvents(connection, [
            { ...event('tool.executed', null, { index, round }), run: shared },
            { ...event('tool.executed', null, { index, round }), run: other },
            { ...event('tool.executed', null, { index, round }), run: newRunId() },
          ]),
        );
        if (index === 0 && round % 20 === 0) verifications.push(createAuditReader(database).verify());
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, index) => writer(index)));
    await until(async () => (await unsequenced(database)) === 0);
    await Promise.all(sequencers.map((sequencer) => sequencer.stop()));

    for (const verification of await Promise.all(verifications))
      expect(verification).toMatchObject({ ok: true });
    expect(await createAuditReader(database).verify()).toMatchObject({ ok: true, events: 8 * 60 * 3 });
    // Said once more in the database's own words: within a chain the numbers follow the events' order.
    const disorder = await database.connection
      .select({ count: count() })
      .from(
        sql`(select seq - lag(seq) over (partition by chain order by request_seq) as step from audit_events) as steps`,
      )
      .where(sql`step <= 0`);
    expect(disorder).toEqual([{ count: 0 }]);
    await Promise.all(replicas.map((replica) => replica.close()));
  });

  it('leave the work to the one that is at it, and take it over when that one fails in the middle', async () => {
    const url = await newPostgresDatabase();
    const [dying, other] = await Promise.all([connectPostgres({ url }), connectPostgres({ url })]);
    await migrate(other);
    await writeSampleRecord(other, 2);
    const total = await unsequenced(other);

    // Its batch is done but not committed: meanwhile the other finds nothing to do, then the first fails.
    const seenMeanwhile: number[] = [];
    const cut: Database = {
      ...dying,
      notifier: dying.notifier,
      transaction: (work) =>
        dying.transaction(async (connection) => {
          const result = await work(connection);
          seenMeanwhile.push(await sequencerOf(other).sequence());
          await connection.execute(sql`select 1 / 0 as crash`);
          return result;
        }),
    };
    await expect(sequencerOf(cut).sequence()).rejects.toThrow();
    expect(seenMeanwhile).toEqual([0]);
    expect(await unsequenced(other)).toBe(total);

    expect(await until(() => sequencerOf(other).sequence())).toBe(total);
    expect(await createAuditReader(other).verify()).toMatchObject({ ok: true, events: total });
    await Promise.all([dying.close(), other.close()]);
  });
});
