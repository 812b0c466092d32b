import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectEmbedded } from '../../src/db/connect-embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { agentId } from '../../src/ids.ts';
import { until } from '../support/until.ts';
import { startEngine, toolNode } from './engine-fixture.ts';
import { ModelServer } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const model = new ModelServer();
const tools = new ToolServer();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-embedded-'));
});
afterAll(async () => {
  await Promise.all([model.stop(), tools.stop()]);
  await rm(folder, { recursive: true, force: true });
});

it('takes up at its start what the last process on the embedded database left, whose lease still runs', {
  timeout: 60_000,
}, async () => {
  const config = sampleConfig({
    modelUrl: await model.start(),
    toolUrl: await tools.start(),
    agents: [agent('buyer')],
  });
  const open = async (name: string) => {
    const database = await connectEmbedded(join(folder, name));
    await migrate(database);
    return { database, engine: await startEngine({ database, config, exclusive: true }) };
  };
  const pay = (amount: string) => ({ payee: 'Acme Ltd', amount });
  const first = await open('first');
  model.script('buyer', [
    { calls: [{ id: 'a', name: 'oa__pay', arguments: pay('1.00') }] },
    { text: 'Paid.' },
  ]);
  const BUYER = agentId('buyer');
  const plan = [toolNode('pay', 'oa__pay', pay('2.00'))];
  const runs = [await first.engine.start({ agent: BUYER }), await first.engine.start({ agent: BUYER, plan })];
  for (const { id } of runs) await first.engine.asked(id);
  // What is on the disk when it is killed here; the one that lives on, on its own folder, gives nothing back in it.
  await cp(join(folder, 'first'), join(folder, 'second'), { recursive: true });
  const second = await open('second');
  await until(() => second.engine.waits() === 2, { what: 'both are taken up', deadlineMs: 10_000 });
  for (const { id } of runs) {
    const [request] = await second.engine.asked(id);
    if (request) await second.engine.decide(request.id, 'approve');
    expect((await second.engine.finished(id)).status).toBe('succeeded');
  }
  expect(tools.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['1.00', '2.00']);
  expect(model.requests.length).toBe(2);
  for (const { engine, database } of [first, second]) {
    await engine.stop();
    await database.close();
  }
});
