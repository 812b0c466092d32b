import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkPlaces } from '../../src/agent/work-places.ts';
import type { Config } from '../../src/config/config.ts';
import { createAbandonedCallers } from '../../src/db/abandoned-callers.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId, type ConfirmationId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { startEngine, toolNode } from './engine-fixture.ts';
import { ModelServer } from './model-server.ts';
import { agent, httpTool, sampleConfig, withTools } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const PAY = { id: 'p', name: 'oa__pay', arguments: { payee: 'Acme Ltd', amount: '10.00' } };

describe('runs that can go on all at once', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let database: Database;
  let config: Config;

  beforeAll(async () => {
    database = await openPostgres();
    const sample = sampleConfig({
      modelUrl: await model.start(),
      toolUrl: await tools.start(),
      agents: [
        agent('buyer', { model: null, executor: 'dag', requireConfirmationForAll: true }),
        agent('boss', { delegates: [agentId('clerk')] }),
        agent('clerk'),
      ],
    });
    config = withTools(sample, (given) => [...given, httpTool({ name: 'slow', path: '/slow' })]);
  });
  afterAll(async () => {
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });

  const begin = (changes: Partial<Config>) => startEngine({ database, config: { ...config, ...changes } });

  /** How many calls of the slow tool whose argument is like this were being sent at the same time. */
  const mostTogether = async (like: string) => {
    const sent = await rowsOf<{ together: number }>(
      database.connection,
      sql`with sent as (select * from invocations where tool = 'oa__slow' and args ->> 'n' like ${like})
          select (select count(*)::integer from sent as other
                  where one.executing_at >= other.executing_at and one.executing_at < other.finished_at) as together
          from sent as one`,
    );
    return Math.max(...sent.map(({ together }) => together));
  };

  it('are at work a few at a time, the longest woken first, while the others stay rows', async () => {
    const first = await begin({ parkAfterMs: 1 });
    const runs = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        first.start({ agent: agentId('buyer'), plan: [toolNode('wait', 'oa__slow', { n: `${index}` })] }),
      ),
    );
    const requests = await Promise.all(runs.map(({ id }) => first.asked(id)));
    await until(() => first.engine.activeRuns() === 0);
    await first.stop();
    for (const [request] of requests.toReversed()) if (request) await first.decide(request.id, 'approve');

    const second = await begin({ resumeAtOnce: 2 });
    const ends = await Promise.all(runs.map(({ id }) => second.finished(id)));
    await second.stop();
    expect(ends.map(({ status }) => status)).toEqual(runs.map(() => 'succeeded'));
    expect(await mostTogether('_')).toBe(2);
    const [earliest] = tools.callsTo('/slow');
    expect(['8', '7', '6', '5']).toContain(earliest?.body.n);
  }, 60_000);

  it('never keep out the run that they wait for', async () => {
    model.script('boss', [
      { calls: [{ id: 'd', name: 'call_agent', arguments: { agent: 'clerk', input: 'Pay.' } }] },
      { text: 'Done.' },
    ]);
    model.script('clerk', [{ calls: [PAY] }, { text: 'Paid.' }]);
    const first = await begin({});
    const { id } = await first.start({ agent: agentId('boss') });
    const child = await until(async () => (await first.engine.runs.get(id))?.childRuns[0]);
    const [request] = await first.asked(child);
    await first.stop();
    // As a process leaves it that dies before it has noted the wait: the caller has nothing to do and is not parked.
    await database.connection.execute(sql`update runs set status = 'running' where id = ${child}`);
    const second = await begin({ resumeAtOnce: 1 });
    await until(() => second.engine.activeRuns() === 2);
    if (request) await second.decide(request.id, 'approve');
    expect(await second.finished(id)).toMatchObject({ status: 'succeeded', output: 'Done.' });
    await second.stop();
  });

  it('stay behind while more than a few people wait for the answer to their votes', async () => {
    const engine = await begin({ parkAfterMs: 1, resumeAtOnce: 50 });
    const parked = async (tool: string, count: number) => {
      const runs = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          engine.start({ agent: agentId('buyer'), plan: [toolNode('wait', tool, { n: `votes ${index}` })] }),
        ),
      );
      const requests = (await Promise.all(runs.map(({ id }) => engine.asked(id)))).flat();
      return { runs, ids: requests.map(({ id }) => id) };
    };
    const voteUntil = async (isOver: () => boolean, id: ConfirmationId) => {
      for (let open = true; open && !isOver(); ) {
        await engine.decide(id, 'approve').catch(() => {});
        open = (await engine.confirmations.get(id))?.status === 'pending';
      }
    };
    const woken = await parked('oa__slow', 5);
    const held = await parked('oa__log', 5);
    await until(() => engine.engine.activeRuns() === 0);
    await database.transaction(async (transaction) => {
      await transaction.execute(
        sql`select 1 from confirmations where id = any(${sql.param(`{${held.ids.join(',')}}`)}::uuid[]) for update`,
      );
      let over = false;
      for (const id of held.ids) void voteUntil(() => over, id);
      for (const id of woken.ids) await engine.decide(id, 'approve');
      const ends = await Promise.all(woken.runs.map(({ id }) => engine.finished(id)));
      expect(ends.map(({ status }) => status)).toEqual(woken.runs.map(() => 'succeeded'));
      over = true;
    });
    await Promise.all(held.ids.map((id) => voteUntil(() => false, id)));
    await Promise.all(held.runs.map(({ id }) => engine.finished(id)));
    await engine.stop();
    expect(await mostTogether('votes%')).toBe(2);
  }, 60_000);

  it('leave the sweeper few callers to look through at a time, and each gets its turn', async () => {
    const engine = await begin({ parkAfterMs: 1 });
    const { id } = await engine.start({
      agent: agentId('buyer'),
      plan: Array.from({ length: 7 }, (_, index) => toolNode(`n${index}`, 'oa__log', { n: `${index}` })),
    });
    const asked = await engine.asked(id, 7);
    await until(() => engine.engine.activeRuns() === 0);
    await engine.stop();
    // As grants of `call_agent` stand while the other agents work; the caller of one of them is over.
    for (const { id: request } of asked) await engine.decide(request, 'approve');
    await database.connection.execute(sql`alter table confirmations disable trigger all`);
    await database.connection.execute(sql`
      update confirmations set tool_timeout_ms = null, execution_status = 'claimed',
        claimed_at = now() - interval '2 days', send_by = now() - interval '2 days' + random() * interval '1 hour'
      where run_id = ${id}`);
    await database.connection.execute(sql`alter table confirmations enable trigger all`);
    const lookThrough = async () => {
      const next = createAbandonedCallers(database.connection);
      const found = [];
      for (let round = 0; round < 4; round += 1) found.push(...(await next(2)));
      return found;
    };
    expect(await lookThrough()).toEqual([]);
    await database.connection.execute(
      sql`update runs set status = 'cancelled', finished_at = now(), parked_at = null, woken_at = null where id = ${id}`,
    );
    expect((await lookThrough()).toSorted()).toEqual(asked.map(({ id: request }) => request).toSorted());
  });
});

describe('places', () => {
  const quiet = new AbortController().signal;

  it('are given in the order of asking, and to a run that has to stop without one', async () => {
    let free = 0;
    const places = new WorkPlaces({ atOnce: () => 1, onFree: () => (free += 1) });
    const [one, two, three] = [false, false, false].map((taken) => places.open({ taken, signal: quiet }));
    const stop = new AbortController();
    const stopped = places.open({ taken: false, signal: stop.signal });
    const entered: string[] = [];
    await one?.enter();
    const waiting = [
      two?.enter().then(() => entered.push('two')),
      stopped.enter().then(() => entered.push('stopped')),
      three?.enter().then(() => entered.push('three')),
    ];
    expect(places.free).toBe(0);
    stop.abort();
    await waiting[1];
    expect(entered).toEqual(['stopped']);
    one?.leave();
    await waiting[0];
    expect(entered).toEqual(['stopped', 'two']);
    two?.leave();
    await waiting[2];
    three?.leave();
    three?.leave();
    expect([free, places.free]).toEqual([1, 1]);
  });
});
