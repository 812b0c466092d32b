import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PlanNode } from '../../src/agent/plan.ts';
import { orderOfCalls } from '../../src/agent/plan-order.ts';
import type { Run, RunEvent } from '../../src/agent/run.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId, personId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { ModelServer } from './model-server.ts';
import { RANDOM_TOOLS, randomFrom, randomPlan } from './random-plan.ts';
import { agent, sampleConfig, withTools } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

/** Those of many that hold the most: loops in loops, failures, rejections and outcomes that nobody knows. */
const SEEDS = [1003, 1009, 2011, 3004, 3009, 4015];

const model = new ModelServer();
const tools = new ToolServer();
let url: string;
let database: Database;
let config: ReturnType<typeof sampleConfig>;
let current: { readonly engine: EngineFixture; readonly database: Database };

beforeAll(async () => {
  url = await newPostgresDatabase();
  database = await connectPostgres({ url });
  const modelUrl = await model.start();
  const sample = sampleConfig({ modelUrl, toolUrl: await tools.start(), agents: [agent('planner')] });
  // A run that only waits is parked at once, and so says that it does.
  config = { ...withTools(sample, (list) => [...list, ...RANDOM_TOOLS]), parkAfterMs: 0 };
});
afterAll(async () => {
  await database.close();
  await Promise.all([model.stop(), tools.stop()]);
});

async function startProcess(): Promise<void> {
  const own = await connectPostgres({ url, poolSize: 5 });
  current = { engine: await startEngine({ database: own, config }), database: own };
}
async function stopProcess(): Promise<void> {
  await current.engine.stop();
  await current.database.close();
}

const startAll = (plans: readonly (readonly PlanNode[])[]) =>
  Promise.all(plans.map((plan) => current.engine.start({ agent: agentId('planner'), plan })));

const allOnlyWait = () =>
  until(
    async () => {
      const rows = await rowsOf(
        database.connection,
        sql`select id from runs where finished_at is null and parked_at is null`,
      );
      return rows.length === 0;
    },
    { deadlineMs: 30_000, what: 'every run has ended or only waits' },
  );

/** What the person makes of a call depends on where it stands in its plan, and on nothing else. */
const mindOf = (seed: number, call: string | null): number =>
  createHash('sha256').update(`${seed} ${call}`).digest().readUInt32BE(0);

/** The next thing that the person does about a run, in the order of its plan; false: it has ended. */
async function act(run: Run, seed: number, person: EngineFixture): Promise<boolean> {
  if (run.finishedAt !== null) return false;
  const order = orderOfCalls(randomPlan(seed));
  const open = run.invocations
    .filter(({ status }) => status === 'waiting' || status === 'unknown')
    .toSorted((one, other) => order(one.node ?? '', other.node ?? ''));
  const [first] = open;
  if (!first?.confirmation) throw new Error(`run ${run.id} of ${seed} stands still`);
  const mind = mindOf(seed, first.node);
  if (first.status === 'waiting') {
    await person.decide(first.confirmation, mind % 100 < 55 ? 'approve' : 'reject', `reason ${mind % 3}`);
    return true;
  }
  await endOldAttempt(database, first.confirmation);
  const settled = await person.confirmations.settle({
    ...{ id: first.confirmation, person: personId('li.wei'), surface: { kind: 'api' } },
    ...{ status: mind % 2 === 0 ? 'failed' : 'succeeded', detail: 'looked it up' },
  });
  expect(settled.kind).toBe('settled');
  return true;
}

/** Everything about a run that another process can read; not when anything happened. */
async function endOf({ id }: Pick<Run, 'id'>, engine: EngineFixture) {
  const run = await engine.engine.runs.get(id);
  if (run === null) throw new Error(`no run ${id}`);
  const { status, error, output, invocations } = run;
  const calls = invocations.map(({ node, status: end, error: fault, args, confirmation }) => ({
    ...{ node, end, code: fault?.code ?? null, args, asked: confirmation !== null },
  }));
  return { status, error, output, calls };
}

/** What holds of every run that has ended, however often it was interrupted. */
async function checkEnd({ id }: Pick<Run, 'id'>, seed: number, engine: EngineFixture): Promise<void> {
  const run = await engine.engine.runs.get(id);
  const open = await rowsOf(
    database.connection,
    sql`select id from confirmations where run_id = ${id}
      and (status = 'pending' or (status = 'approved' and execution_status in ('unclaimed', 'claimed')))`,
  );
  expect(open, `${seed} leaves nobody asked`).toEqual([]);
  for (const call of run?.invocations ?? []) {
    const sent = tools.calls.filter(({ headers }) => headers['idempotency-key'] === call.id).length;
    const ran = ['succeeded', 'failed', 'unknown'].includes(call.status);
    expect(sent, `${seed}: how often ${call.node} was sent`).toBe(ran ? 1 : 0);
  }
  const events = await engine.events(id);
  expect(events.filter(({ kind }) => kind === 'run.finished')).toEqual(events.slice(-1));
  checkRounds(events, seed);
}

/** No round begins before it is known what became of every call of the one before. */
function checkRounds(events: readonly RunEvent[], seed: number): void {
  const repeating = new Set(
    loopsIn(randomPlan(seed)).flatMap(({ id, kind }) => (kind === 'repeat' ? id : [])),
  );
  const open = new Map<unknown, string>();
  for (const { kind, data } of events) {
    if (kind === 'tool.called') {
      const node = String((data as JsonObject).node);
      for (const { index, 1: loop = '', 2: round } of node.matchAll(/(n\d+)\[(\d+)\]/g)) {
        if (!repeating.has(loop) || round === '0') continue;
        const before = `${node.slice(0, index)}${loop}[${Number(round) - 1}]/`;
        const unsettled = [...open.values()].filter((path) => path.startsWith(before));
        expect(unsettled, `${seed}: open when ${node} began`).toEqual([]);
      }
      open.set(data.invocation, node);
    }
    if (kind === 'tool.finished' && data.status !== 'unknown') open.delete(data.invocation);
  }
}

const loopsIn = (nodes: readonly PlanNode[]): readonly PlanNode[] =>
  nodes.flatMap((node) => ('nodes' in node ? [node, ...loopsIn(node.nodes)] : []));

it('random plans end the same where processes come and go, and people decide while nobody works on them', async () => {
  const plans = SEEDS.map(randomPlan);
  await startProcess();
  const whole = await startAll(plans);
  const people = current.engine;
  const actOnAll = (runs: readonly Run[]) =>
    Promise.all(
      runs.map(async ({ id }, index) => {
        const run = await people.engine.runs.get(id);
        return run !== null && act(run, SEEDS[index] ?? 0, people);
      }),
    );
  for (let goesOn = true; goesOn; ) {
    await allOnlyWait();
    goesOn = (await actOnAll(whole)).includes(true);
  }
  // From here on it only answers people; others come and go.
  await people.engine.stop();
  const first = current;

  const random = randomFrom(5);
  await startProcess();
  const broken = await startAll(plans);
  for (let goesOn = true; goesOn; ) {
    if (random() < 0.6) {
      await new Promise((resolve) => setTimeout(resolve, random() * 60));
      await stopProcess();
      await startProcess();
    }
    await allOnlyWait();
    const nobodyWorks = random() < 0.3;
    if (nobodyWorks) await stopProcess();
    goesOn = (await actOnAll(broken)).includes(true);
    if (nobodyWorks) await startProcess();
  }
  await stopProcess();

  for (const [index, run] of broken.entries()) {
    const seed = SEEDS[index] ?? 0;
    const straight = whole[index];
    if (straight === undefined) throw new Error('no run to compare with');
    await checkEnd(straight, seed, people);
    await checkEnd(run, seed, people);
    expect(await endOf(run, people), `${seed}: ${JSON.stringify(plans[index])}`).toEqual(
      await endOf(straight, people),
    );
  }
  await people.stop();
  await first.database.close();
}, 120_000);
