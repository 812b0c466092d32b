import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { createRunStore } from '../../src/db/run-store.ts';
import { agentId, type RunId } from '../../src/ids.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { ModelServer } from './model-server.ts';
import { callPiece, finish, liveTurn, words } from './model-stream.ts';
import { rebuilt } from './rebuilt.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const BUYER = agentId('buyer');
const LOG = { id: 'l', name: 'oa__log', arguments: '{}' };

/** What whoever watches a run hears of its model while that speaks. Each process has its own connections. */
describe('a run whose model speaks', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let url: string;
  let config: ReturnType<typeof sampleConfig>;
  let database: Database;
  const open: { engine: EngineFixture; database: Database }[] = [];

  beforeAll(async () => {
    url = await newPostgresDatabase();
    database = await connectPostgres({ url });
    config = sampleConfig({
      modelUrl: await model.start(),
      toolUrl: await tools.start(),
      agents: [agent('buyer'), agent('planner', { executor: 'dag' })],
    });
  });
  afterAll(async () => {
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
    model.requests.length = 0;
  });
  afterEach(async () => {
    for (const process of open.splice(0)) {
      await process.engine.stop();
      await process.database.close();
    }
  });

  async function startProcess(): Promise<EngineFixture> {
    const own = await connectPostgres({ url, poolSize: 4 });
    const engine = await startEngine({ database: own, config });
    open.push({ engine, database: own });
    return engine;
  }
  async function deltas(id: RunId) {
    const events = await createRunStore({ database, clock: systemClock }).eventsAfter(id, 0, 1_000);
    return events.filter(({ kind }) => kind === 'model.delta').map(({ data }) => data);
  }
  const told = (id: RunId, turn: number, text: string) =>
    until(async () => rebuilt(await deltas(id)).get(turn) === text, { what: `"${text}" is told` });

  it('is heard while it does, each piece before the next; the pieces together are what it said', async () => {
    const { turn, stream } = liveTurn();
    model.script('buyer', [turn]);
    const engine = await startProcess();
    const { id } = await engine.start({ agent: BUYER });
    const speaking = await stream;
    speaking.send(words('It '));
    await told(id, 1, 'It ');
    for (const word of ['is ', 'paid', ', ', 'I ', 'think']) speaking.send(words(word));
    await told(id, 1, 'It is paid, I think');
    expect((await engine.engine.runs.get(id))?.status).toBe('running');
    speaking.send(words('.'));
    speaking.send(finish('stop'));
    speaking.end();
    expect(await engine.finished(id)).toMatchObject({ output: 'It is paid, I think.' });
    const pieces = await deltas(id);
    expect(rebuilt(pieces)).toEqual(new Map([[1, 'It is paid, I think.']]));
    expect(pieces.map(({ first }) => first)).toEqual([true, ...pieces.slice(1).map(() => false)]);
    // However many chunks there are.
    expect(pieces.length).toBeLessThanOrEqual(5);
    expect((await engine.events(id)).at(-1)?.kind).toBe('run.finished');
  });

  it('is heard anew where its answer broke off and it is asked again; no call of what broke off runs', async () => {
    const { turn, stream } = liveTurn();
    model.script('buyer', [turn, { calls: [{ ...LOG, name: 'oa__weather' }] }, { text: 'It rains.' }]);
    const engine = await startProcess();
    const { id } = await engine.start({ agent: BUYER });
    const speaking = await stream;
    speaking.send(words('I will note that.'));
    speaking.send(callPiece({ index: 0, ...LOG }));
    await told(id, 1, 'I will note that.');
    speaking.break();
    expect(await engine.finished(id)).toMatchObject({
      output: 'It rains.',
      invocations: [{ tool: 'oa__weather' }],
    });
    expect(rebuilt(await deltas(id))).toEqual(
      new Map([
        [1, ''],
        [2, 'It rains.'],
      ]),
    );
    expect(tools.callsTo('/log')).toEqual([]);
    expect(model.requests.length).toBe(3);
  });

  it('is heard as a planner, too', async () => {
    const { turn, stream } = liveTurn();
    model.script('planner', [turn]);
    const engine = await startProcess();
    const { id } = await engine.start({ agent: agentId('planner') });
    const speaking = await stream;
    const plan = ['{"nodes": [{"id": "log", ', '"tool": "oa__log"}]}'];
    speaking.send(words(plan[0] ?? ''));
    await told(id, 1, plan[0] ?? '');
    speaking.send(words(plan[1] ?? ''));
    speaking.send(finish('stop'));
    speaking.end();
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded' });
    expect(rebuilt(await deltas(id))).toEqual(new Map([[1, plan.join('')]]));
    expect(tools.callsTo('/log').length).toBe(1);
  });

  it('stops when the run is cancelled', async () => {
    const { turn, stream } = liveTurn();
    model.script('buyer', [turn]);
    const engine = await startProcess();
    const { id } = await engine.start({ agent: BUYER });
    const speaking = await stream;
    speaking.send(callPiece({ index: 0, ...LOG }));
    speaking.send(words('I will'));
    await told(id, 1, 'I will');
    expect(await engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled', invocations: [] });
    await speaking.closed;
    expect(model.requests.length).toBe(1);
    expect(tools.calls).toEqual([]);
  });

  it('stops in order behind the end of its answer, which is kept and not asked for again', async () => {
    const { turn, stream } = liveTurn();
    model.script('buyer', [turn, { text: 'Noted.' }]);
    const first = await startProcess();
    const { id } = await first.start({ agent: BUYER });
    const speaking = await stream;
    speaking.send(words('I will note that.'));
    speaking.send(callPiece({ index: 0, ...LOG }));
    // The stream stays open, for what it cost.
    speaking.send(finish('tool_calls'));
    await told(id, 1, 'I will note that.');
    await first.stop();
    await speaking.closed;
    expect(tools.calls).toEqual([]);
    const second = await startProcess();
    expect(await second.finished(id)).toMatchObject({ status: 'succeeded', output: 'Noted.' });
    expect(rebuilt(await deltas(id)).get(1)).toBe('I will note that.');
    expect([tools.callsTo('/log').length, model.requests.length]).toEqual([1, 2]);
  });

  it('loses nothing of its answer where a piece cannot be written', async () => {
    const run = (statement: string) => database.connection.execute(sql.raw(statement));
    await run('create sequence delta_faults');
    await run(`create function delta_fault() returns trigger language plpgsql as $$ begin
      if new.kind = 'model.delta' and nextval('delta_faults') <= 1 then raise 'the disk is full'; end if;
      return new;
    end $$`);
    await run(
      'create trigger delta_fault before insert on run_events for each row execute function delta_fault()',
    );
    const { turn, stream } = liveTurn();
    model.script('buyer', [turn]);
    const engine = await startProcess();
    const { id } = await engine.start({ agent: BUYER });
    const speaking = await stream;
    speaking.send(words('It is '));
    await until(async () => {
      const rows = await database.connection.execute(sql`select is_called from delta_faults`);
      return JSON.stringify(rows).includes('true');
    });
    speaking.send(words('paid.'));
    speaking.send(finish('stop'));
    speaking.end();
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'It is paid.' });
    expect(await deltas(id)).toEqual([{ turn: 1, text: 'It is paid.', first: true }]);
    expect(model.requests.length).toBe(1);
    await run('drop trigger delta_fault on run_events');
  });

  it.each<[string, (first: EngineFixture) => Promise<unknown>]>([
    ['dies', async () => database.connection.execute(sql`delete from run_workers`)],
    ['loses its lease', async () => database.connection.execute(sql`delete from run_workers`)],
    ['stops in order', async (first) => first.stop()],
  ])(
    'is asked again where its process %s in the middle of the answer, and its call runs once',
    async (how, end) => {
      const { turn, stream } = liveTurn();
      model.script('buyer', [turn, { calls: [LOG] }, { text: 'Noted.' }]);
      const first = await startProcess();
      const { id } = await first.start({ agent: BUYER });
      const speaking = await stream;
      speaking.send(words('I will note that.'));
      speaking.send(callPiece({ index: 0, ...LOG }));
      await told(id, 1, 'I will note that.');
      await end(first);
      const second = await startProcess();
      await until(async () => model.requests.length >= 2, { what: 'the model is asked again' });
      // One that lives on without its lease finds out with its next piece, and hangs up.
      if (how === 'dies') speaking.send(words(' And more.'));
      // An answer that is whole by then is of no use, either.
      if (how === 'loses its lease') {
        speaking.send(finish('tool_calls'));
        speaking.end();
      }
      await speaking.closed;
      expect(await second.finished(id)).toMatchObject({ status: 'succeeded', output: 'Noted.' });
      expect(rebuilt(await deltas(id))).toEqual(
        new Map([
          [1, ''],
          [2, 'Noted.'],
        ]),
      );
      expect(tools.callsTo('/log').length).toBe(1);
      expect(model.requests.length).toBe(3);
    },
  );
});
