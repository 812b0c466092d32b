import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitDecision } from '../../src/agent/await-decision.ts';
import type { CallScope } from '../../src/agent/call-scope.ts';
import type { InvokePorts } from '../../src/agent/invoke-ports.ts';
import { RunStop } from '../../src/agent/run-stop.ts';
import { RunWaits } from '../../src/agent/run-waits.ts';
import { systemClock } from '../../src/clock.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import type { ConfirmationId } from '../../src/ids.ts';
import { type Core, person, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';
import { ignoreLog } from './engine-fixture.ts';

/** Notes how long the pauses are that it is asked for. */
class PausingClock extends ManualClock {
  readonly pauses: number[] = [];

  override setTimer(delayMs: number, run: () => void): () => void {
    this.pauses.push(delayMs);
    return super.setTimer(delayMs, run);
  }
}

describe('a call whose request cannot be read', () => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await openPostgres();
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  async function damagedRequest(): Promise<{ id: ConfirmationId; mend: () => Promise<void> }> {
    const id = await core.pending();
    const [row] = await rowsOf<{ policy: string }>(
      database.connection,
      sql`select policy::text from confirmations where id = ${id}`,
    );
    const write = (policy: string) =>
      database.transaction(async (inside) => {
        await inside.execute(sql`set local session_replication_role = replica`);
        await inside.execute(sql`update confirmations set policy = ${policy}::jsonb where id = ${id}`);
      });
    await write('{}');
    return { id, mend: () => write(row?.policy ?? '') };
  }

  /** Waits for it as a run's call does; `fault`, where there is one, comes before the database is asked. */
  function waitFor(id: ConfirmationId, fault: () => void = () => {}) {
    const clock = new PausingClock();
    const stop = new AbortController();
    const place = { taken: true };
    const unread = new Set<ConfirmationId>();
    const waits = new RunWaits({
      parkAfterMs: 60_000,
      clock: systemClock,
      park: async () => false,
      onParked() {},
      place: {
        async enter() {
          place.taken = true;
        },
        leave() {
          place.taken = false;
        },
      },
    });
    const warnings: string[] = [];
    const ports = {
      confirmations: {
        ...core.service,
        wait(input: Parameters<Core['service']['wait']>[0]) {
          fault();
          return core.service.wait(input);
        },
      },
      unread,
      clock,
      logger: { ...ignoreLog, warn: (_fields: object, message: string) => void warnings.push(message) },
    } as unknown as InvokePorts;
    const scope = { run: 'run', agent: 'buyer', waits, signal: stop.signal } as unknown as CallScope;
    const ended = waits.whileOpen(() => awaitDecision(id, scope, ports));
    /** Lets it pause `count` more times, each to its end but the last. */
    const pausing = async (count: number) => {
      const target = clock.pauses.length + count;
      for (;;) {
        await until(() => clock.pendingTimers === 1);
        if (clock.pauses.length === target) return;
        clock.advance(clock.pauses.at(-1) ?? 0);
      }
    };
    return { clock, stop, place, unread, warnings, ended, pausing };
  }

  it('is asked for ever less often, is counted meanwhile, and takes no place; mended, it goes on', async () => {
    const { id, mend } = await damagedRequest();
    const { clock, place, unread, warnings, ended, pausing } = waitFor(id);
    await pausing(8);
    expect(clock.pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(warnings).toHaveLength(8);
    expect([...unread]).toEqual([id]);
    expect(place.taken).toBe(false);

    await mend();
    await core.service.decide({
      ...{ id, person: person('li.wei'), verdict: 'reject', reason: 'no', argsDigest: null },
      surface: { kind: 'api' },
    });
    clock.advance(60_000);
    expect(await ended).toMatchObject({ id, status: 'rejected' });
    expect([...unread]).toEqual([]);
    expect(place.taken).toBe(true);
  });

  it('while the database is away, is asked for every few seconds', async () => {
    const id = await core.pending();
    let away = true;
    const { clock, ended, pausing } = waitFor(id, () => {
      if (away) throw new Error('the database is away');
    });
    await pausing(6);
    expect(clock.pauses).toEqual([1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
    away = false;
    await core.service.cancel({ id, actor: { type: 'system' }, reason: null });
    clock.advance(5_000);
    expect(await ended).toMatchObject({ status: 'cancelled' });
  });

  it('ends a pause when its run is stopped, and says nothing of the request all the same', async () => {
    const { id, mend } = await damagedRequest();
    const { clock, stop, unread, ended, pausing } = waitFor(id);
    await pausing(7);
    stop.abort(new RunStop('cancelled'));
    await until(() => clock.pauses.length === 8);
    expect([...unread]).toEqual([id]);
    // Asked again only after a pause, although it is to be stopped by now.
    await pausing(1);
    expect(clock.pauses).toHaveLength(9);
    await mend();
    clock.advance(60_000);
    expect(await ended).toMatchObject({ status: 'cancelled', decision: { code: 'cancelled' } });
  });

  it('is let go of at once where its process stops', async () => {
    const { id } = await damagedRequest();
    const { clock, stop, unread, ended, pausing } = waitFor(id);
    await pausing(7);
    stop.abort(new RunStop('suspended'));
    await expect(ended).rejects.toMatchObject({ kind: 'suspended' });
    expect(clock.pendingTimers).toBe(0);
    expect([...unread]).toEqual([]);
  });
});
