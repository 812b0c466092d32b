import type { PolicyRule } from '../../../src/config/config.ts';
import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { agentId } from '../../../src/ids.ts';
import { type EngineFixture, startEngine, toolNode } from '../../agent/engine-fixture.ts';
import { agent, sampleConfig } from '../../agent/sample-config.ts';
import { ToolServer } from '../../agent/tool-server.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import type { ChaosContext, ChaosResult, ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';

const PEOPLE_AT_ONCE = 32;
/** How long all of them may take once the last is decided. */
const RESUMED_WITHIN_MS = 300_000;

export const restartedWaits: ChaosRow = {
  id: 'F24',
  title: 'pending runs, the service restarted, then all decided: each resumes once, as it was decided',
  volume: { usual: 150, full: 10_000 },
  run: (context) => restart(context, { parked: false }),
};

export const parkedRuns: ChaosRow = {
  id: 'F27',
  title: 'parked runs, the service restarted, then all decided: each resumes once, as it was decided',
  volume: { usual: 150, full: 10_000 },
  run: (context) => restart(context, { parked: true }),
};

/** Parked, no process holds anything of the runs, before the restart or after it. */
async function restart(
  { databaseUrl, rounds }: ChaosContext,
  { parked }: { readonly parked: boolean },
): Promise<ChaosResult> {
  const tools = new ToolServer();
  const sample = sampleConfig({
    modelUrl: 'http://127.0.0.1:9',
    toolUrl: await tools.start(),
    agents: [agent('buyer', { model: null, executor: 'dag' })],
  });
  const config = {
    ...sample,
    defaultPolicy: patient(sample.defaultPolicy),
    parkAfterMs: parked ? 200 : sample.parkAfterMs,
  };
  const process = async (): Promise<{ engine: EngineFixture; stop(): Promise<void> }> => {
    const database = await connectPostgres({ url: databaseUrl });
    await migrate(database);
    const engine = await startEngine({ database, config });
    return { engine, stop: () => engine.stop().then(() => database.close()) };
  };
  const first = await process();
  await sideBySide(rounds, async (index) => {
    const plan = [toolNode('pay', 'oa__pay', { payee: `payee ${index}`, amount: '10.00' })];
    await first.engine.start({ agent: agentId('buyer'), plan });
  });
  const pending = () =>
    runStatement<{ id: string; run: string; payee: string }>(
      databaseUrl,
      "select id, run_id as run, args ->> 'payee' as payee from confirmations where status = 'pending'",
    );
  await until(async () => (await pending()).length === rounds, { deadlineMs: 600_000, what: 'all asked' });
  const asked = await pending();
  if (parked) {
    await until(() => first.engine.engine.activeRuns() === 0 && first.engine.waits() === 0, {
      deadlineMs: 120_000,
      what: 'all parked',
    });
  }
  await first.stop();

  const second = await process();
  const held = parked ? 0 : rounds;
  await until(() => second.engine.engine.activeRuns() === held, {
    deadlineMs: 60_000,
    what: 'taken over',
  });
  const decidingAt = performance.now();
  const decideOne = async (index: number) => {
    const request = asked[index];
    if (request === undefined) return;
    const verdict = index % 3 === 0 ? 'reject' : 'approve';
    await second.engine.decide(request.id as never, verdict, 'as agreed');
  };
  await sideBySide(rounds, decideOne, PEOPLE_AT_ONCE);
  const decidedAt = performance.now();
  const unfinished = () =>
    runStatement<{ id: string }>(databaseUrl, 'select id from runs where finished_at is null limit 1');
  await until(async () => (await unfinished()).length === 0, {
    deadlineMs: RESUMED_WITHIN_MS,
    what: 'all runs finished',
  }).catch(() => {});
  const resumedInMs = Math.round(performance.now() - decidedAt);

  const counts = { lost: 0, doubled: 0, letIn: 0 };
  const ends = new Map(
    (await runStatement<{ id: string; status: string }>(databaseUrl, 'select id, status from runs')).map(
      ({ id, status }) => [id, status],
    ),
  );
  for (const [index, { run, payee }] of asked.entries()) {
    const paid = tools.calls.filter(({ body }) => body.payee === payee).length;
    const rejected = index % 3 === 0;
    if (paid > 1) counts.doubled += 1;
    if (rejected && paid > 0) counts.letIn += 1;
    if ((!rejected && paid === 0) || ends.get(run) !== (rejected ? 'failed' : 'succeeded')) counts.lost += 1;
  }
  await second.stop();
  await tools.stop();
  const decidedInMs = Math.round(decidedAt - decidingAt);
  const note = `decided within ${decidedInMs} ms, all finished ${resumedInMs} ms after the last decision`;
  return { tried: rounds, ...counts, note };
}

/** Asking about thousands takes a while; none of them may be over before it is decided. */
const patient = (rule: PolicyRule | null): PolicyRule | null =>
  rule && { ...rule, decideWithinMs: 3_600_000, executeWithinMs: 3_600_000 };
