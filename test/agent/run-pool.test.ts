import { describe, expect, it } from 'vitest';
import { RunPool } from '../../src/agent/run-pool.ts';
import type { RunStore } from '../../src/agent/run-store.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';
import { ignoreLog } from './engine-fixture.ts';

/** A process that looks after runs on a database that can be away. */
function startPool() {
  const clock = new ManualClock();
  const database = { away: false, lapsedToo: [] as boolean[], beats: 0, failed: 0 };
  const unused = () => Promise.reject(new Error('there are no runs'));
  const answer = async () => {
    if (!database.away) return;
    database.failed += 1;
    throw new Error('the database is away');
  };
  const store: RunStore = {
    ...{ create: unused, find: unused, statusOf: unused, eventCounts: unused, childOf: unused },
    ...{ eventsAfter: unused, requestCancel: unused, endOtherLeases: unused, endLease: answer },
    async heartbeat() {
      await answer();
      database.beats += 1;
    },
    async takeOver({ lapsed }) {
      await answer();
      database.lapsedToo.push(lapsed);
      return [];
    },
    takeWoken: () => answer().then(() => []),
    cancelRequestedOf: () => answer().then(() => []),
    record: () => {
      throw new Error('there are no runs');
    },
  };
  const pool = new RunPool({
    resuming: () => ({ atOnce: 1, restMs: 20 }),
    ...{ owner: 'one', store, clock, logger: ignoreLog, exclusive: false },
    signals: {
      ...{ onConfirmation: () => () => {}, onRun: () => () => {}, onCancel: () => () => {} },
      onReconnect: () => () => {},
    },
    work: unused,
    abandon: unused,
  });
  /** One look after the runs, whole, and what time passes until the next. */
  const tick = async () => {
    const { length } = database.lapsedToo;
    const { failed } = database;
    clock.advance(1_500);
    await until(() => database.lapsedToo.length > length || database.failed > failed);
    clock.advance(20);
    await until(() => clock.pendingTimers > 0);
  };
  const ticksUntil = async (lapsed: boolean) => {
    for (let ticks = 1; ticks <= 20; ticks += 1) {
      await tick();
      if (database.lapsedToo.at(-1) === lapsed) return ticks;
    }
    throw new Error('it never came to that');
  };
  return { pool, database, tick, ticksUntil };
}

describe('a process that looks after runs', () => {
  it('takes over from a lease that lapsed once everybody who lives has renewed theirs', async () => {
    const { pool, database, tick, ticksUntil } = startPool();
    await pool.start();
    expect(database.lapsedToo).toEqual([false]);
    expect(await ticksUntil(true)).toBeGreaterThan(5);

    database.away = true;
    for (let ticks = 0; ticks < 10; ticks += 1) await tick();
    database.away = false;
    await tick();
    expect(database.lapsedToo.at(-1)).toBe(false);
    expect(await ticksUntil(true)).toBeGreaterThan(4);
    await pool.stop();
  });
});
