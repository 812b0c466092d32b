import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import type { Database } from '../../../src/db/database.ts';
import type { ConfirmationId } from '../../../src/ids.ts';
import { type Core, person, startCore } from '../../support/core.ts';
import { runStatement } from '../../support/run-statement.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';
import type { ChaosRow } from '../row.ts';

/** The shared poll, and what it takes to read and hand over. */
const RESUMED_WITHIN_MS = 1_500 + 250;
/** Every connection is dead: the statement that meets one of them first has to be given up. */
const RESUMED_WITHIN_MS_ALL_DEAD = 30_000;
const LISTENER = 'countersign-listen';

interface Scene {
  readonly proxy: TcpProxy;
  readonly databaseUrl: string;
  /** Where the waits are. */
  readonly waiting: Core;
  /** Another process, which decides. */
  readonly deciding: Core;
  /** The same, with wake-ups that never arrive. */
  readonly mute: Core;
}

/** What breaks, and how soon the waits still have to end. */
const FAULTS: readonly {
  readonly name: string;
  readonly withinMs: number;
  break(scene: Scene): Promise<Core>;
}[] = [
  {
    name: 'terminated',
    withinMs: RESUMED_WITHIN_MS,
    async break({ databaseUrl, deciding }) {
      await runStatement(
        databaseUrl,
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = '${LISTENER}' and datname = current_database()`,
      );
      return deciding;
    },
  },
  { name: 'NOTIFY dropped', withinMs: RESUMED_WITHIN_MS, break: async ({ mute }) => mute },
  {
    name: 'listener half-open',
    withinMs: RESUMED_WITHIN_MS,
    async break({ proxy, deciding }) {
      if (proxy.stallOpen(LISTENER) !== 1) throw new Error('There is no listener to cut off');
      return deciding;
    },
  },
  {
    name: 'all half-open',
    withinMs: RESUMED_WITHIN_MS_ALL_DEAD,
    async break({ proxy, deciding }) {
      proxy.stallOpen();
      return deciding;
    },
  },
];

export const lostSignals: ChaosRow = {
  id: 'F15',
  title: 'LISTEN backend terminated, NOTIFY dropped, listener half-open, every connection half-open',
  volume: { usual: 12, full: 500 },
  async run({ databaseUrl, rounds }) {
    const proxy = await startTcpProxy(databaseUrl);
    let listenerLost = 0;
    const here = await connectPostgres({
      url: proxy.url,
      poolSize: 4,
      onListenerChange: (connected) => {
        if (!connected) listenerLost += 1;
      },
    });
    const elsewhere = await connectPostgres({ url: databaseUrl, listen: false });
    const scene: Scene = {
      proxy,
      databaseUrl,
      waiting: startCore(here),
      deciding: startCore(elsewhere),
      mute: startCore(withoutNotify(elsewhere)),
    };
    let lost = 0;
    const slowest: string[] = [];
    for (const fault of FAULTS) {
      const latencies = await waitThrough(fault, scene, rounds);
      lost += latencies.filter((latencyMs) => latencyMs > fault.withinMs).length;
      slowest.push(`${fault.name} ${Math.round(Math.max(...latencies))} ms`);
    }
    // Terminated once, half-open at least once: a silent connection is found out by asking it.
    await until(() => listenerLost >= 2, { deadlineMs: 20_000, what: 'the lost listener noticed' });
    await until(() => here.notifier.connected, { what: 'the listener back' });
    for (const core of [scene.waiting, scene.deciding, scene.mute]) core.stop();
    await Promise.all([here.close(), elsewhere.close()]);
    await proxy.stop();
    return {
      tried: FAULTS.length * rounds,
      lost,
      doubled: 0,
      letIn: 0,
      note: `slowest: ${slowest.join(', ')}`,
    };
  },
};

const withoutNotify = (database: Database): Database => ({
  ...database,
  notifier: { ...database.notifier, notify: async () => {}, connected: true },
});

/** Breaks, then decides; gives how long after its decision each wait ended. */
async function waitThrough(fault: (typeof FAULTS)[number], scene: Scene, count: number): Promise<number[]> {
  const ids: ConfirmationId[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await scene.deciding.pending());
  const decidedAt = new Map<ConfirmationId, number>();
  const resumed = ids.map(async (id) => {
    const request = await waitAgain(scene.waiting, id);
    return request?.status === 'approved'
      ? performance.now() - (decidedAt.get(id) ?? Number.NaN)
      : Number.POSITIVE_INFINITY;
  });
  await until(() => scene.waiting.waiter.size === count, { what: 'every wait registered' });
  // Registered comes before the first read, which the fault should not hit.
  for (const id of ids) await scene.waiting.service.get(id);
  const deciding = await fault.break(scene);
  for (const id of ids) {
    decidedAt.set(id, performance.now());
    await deciding.service.decide({
      id,
      person: person('li.wei'),
      verdict: 'approve',
      reason: null,
      argsDigest: null,
      surface: { kind: 'api' },
    });
  }
  return Promise.all(resumed);
}

/** As every client does: a wait whose first read failed is begun again. */
async function waitAgain(core: Core, id: ConfirmationId) {
  for (;;) {
    const signal = new AbortController().signal;
    try {
      return await core.service.wait({ id, timeoutMs: 60_000, signal });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
