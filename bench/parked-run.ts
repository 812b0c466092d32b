import { connectPostgres } from '../src/db/connect-postgres.ts';
import { migrate } from '../src/db/migrate.ts';
import { agentId } from '../src/ids.ts';
import { startEngine, toolNode } from '../test/agent/engine-fixture.ts';
import { agent, sampleConfig } from '../test/agent/sample-config.ts';
import { ToolServer } from '../test/agent/tool-server.ts';
import { type BenchRow, quantile } from './bench-row.ts';

const RUNS = 200;

/**
 * From a committed approval to the payment's arrival at the tool: of a run that was parked, against one that the
 * process still holds. Both claim, note and send; the parked one is found, leased and loaded first.
 */
export async function benchParkedRun(databaseUrl: string): Promise<BenchRow[]> {
  const held = await resumeMs(databaseUrl, { parkAfterMs: 3_600_000 });
  const parked = await resumeMs(databaseUrl, { parkAfterMs: 1 });
  const row = (fraction: number, name: string): BenchRow => ({
    name: `decision → tool called, of a parked run, ${name}`,
    value: quantile(parked, fraction),
    unit: 'ms',
    reference: quantile(held, fraction),
    referenceName: `of a run in memory, ${name}`,
    ratio: quantile(parked, fraction) / quantile(held, fraction),
    goal: 'for comparison',
  });
  return [row(0.5, 'p50'), row(0.99, 'p99')];
}

async function resumeMs(url: string, { parkAfterMs }: { readonly parkAfterMs: number }): Promise<number[]> {
  const tools = new ToolServer();
  const config = sampleConfig({
    modelUrl: 'http://127.0.0.1:9',
    toolUrl: await tools.start(),
    agents: [agent('buyer', { model: null, executor: 'dag' })],
  });
  const database = await connectPostgres({ url });
  await migrate(database);
  const engine = await startEngine({ database, config: { ...config, parkAfterMs } });
  const times: number[] = [];
  for (let round = 0; round < RUNS; round += 1) {
    const plan = [toolNode('pay', 'oa__pay', { payee: `payee ${round}`, amount: '10.00' })];
    const { id } = await engine.start({ agent: agentId('buyer'), plan });
    const [request] = await engine.asked(id);
    if (request === undefined) throw new Error('nobody was asked');
    // Parked or not, whatever it did to come to its wait is over.
    await settled(() => (parkAfterMs === 1 ? engine.engine.activeRuns() === 0 : engine.waits() === 1));
    const arrived = tools.next();
    await engine.decide(request.id, 'approve');
    const decidedAt = performance.now();
    times.push(Math.max(0, (await arrived) - decidedAt));
    await engine.finished(id);
  }
  await engine.stop();
  await database.close();
  await tools.stop();
  return times;
}

async function settled(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
