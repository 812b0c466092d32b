import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PlanNode } from '../../src/agent/plan.ts';
import { planBody, planJson, planNodes } from '../../src/agent/plan-body.ts';
import { orderOfCalls } from '../../src/agent/plan-order.ts';
import type { Run } from '../../src/agent/run.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, personId } from '../../src/ids.ts';
import type { JsonValue } from '../../src/json.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { type Edges, forEach, log, repeat } from './loop-nodes.ts';
import { ModelServer } from './model-server.ts';
import { agent, NO_LIMITS, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

/** Gated: pays the element of the loop it names. */
const payItem = (loop: string, edges: Edges = {}, id = 'pay') =>
  toolNode(id, 'oa__pay', { payee: 'Acme Ltd', amount: { $from: loop, path: '/item' } }, edges);

describe('loops of a plan', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let url: string;
  let database: Database;
  let config: ReturnType<typeof sampleConfig>;
  let engine: EngineFixture;

  beforeAll(async () => {
    url = await newPostgresDatabase();
    database = await connectPostgres({ url });
    config = sampleConfig({
      modelUrl: await model.start(),
      toolUrl: await tools.start(),
      agents: [
        agent('planner', { delegates: [agentId('helper')] }),
        agent('helper'),
        agent('modest', { limits: { ...NO_LIMITS, toolCalls: 3 } }),
      ],
    });
    engine = await startEngine({ database, config });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
  });

  const start = (plan: readonly PlanNode[], id = 'planner') => engine.start({ agent: agentId(id), plan });
  const ends = (run: Run | null) =>
    Object.fromEntries(
      (run?.invocations ?? []).map(({ node, status, error }) => [
        node,
        error ? `${status} ${error.code}` : status,
      ]),
    );
  const output = (run: Run): unknown => JSON.parse(run.output ?? 'null');
  /** Waits until somebody is asked about a payment that reads so, and decides. */
  async function decide(id: Run['id'], sought: string, verdict: 'approve' | 'reject', reason = 'said so') {
    let found: string | undefined;
    await until(
      async () => {
        const run = await engine.engine.runs.get(id);
        for (const call of run?.invocations ?? []) {
          if (call.status === 'waiting' && call.node === sought && call.confirmation !== null) {
            found = call.confirmation;
            await engine.decide(call.confirmation, verdict, reason);
          }
        }
        return found !== undefined;
      },
      { what: `people are asked about ${sought}` },
    );
  }

  it('go through a list side by side, each element with its own calls', async () => {
    const { id } = await start([
      log('begin'),
      forEach(
        'each',
        ['1.00', '2.00', '3.00'],
        [payItem('each'), log('note', { paid: { $from: 'pay', path: '/total' } })],
        {
          dependsOn: ['begin'],
        },
      ),
      log('after', { second: { $from: 'each', path: '/1/note' } }),
    ]);
    await engine.asked(id, 3);
    await decide(id, 'each[1]/pay', 'approve');
    await until(async () => ends(await engine.engine.runs.get(id))['each[1]/note'] === 'succeeded');
    expect((await engine.engine.runs.get(id))?.status).toBe('waiting');
    await decide(id, 'each[0]/pay', 'approve');
    await decide(id, 'each[2]/pay', 'approve');
    const run = await engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(tools.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['2.00', '1.00', '3.00']);
    expect(tools.calls.at(-1)?.body).toEqual({ second: { logged: true } });
  });

  it('name their result element by element, in the order of the list', async () => {
    const { id } = await start([
      forEach(
        'each',
        [{ amount: '5.00' }, { amount: '6.00' }],
        [
          toolNode('pay', 'oa__pay_freely', {
            payee: 'Acme Ltd',
            amount: { $from: 'each', path: '/item/amount' },
          }),
        ],
      ),
      forEach('none', [], [log('never')]),
    ]);
    const run = await engine.finished(id);
    expect(output(run)).toMatchObject({
      each: [{ pay: { payment: 'P-1' } }, { pay: { payment: 'P-1' } }],
      none: [],
    });
    expect(Object.keys(ends(run))).toEqual(['each[0]/pay', 'each[1]/pay']);
  });

  it.each<[Edges['onRejected'], Edges['onRejected'], object]>([
    ['skip', 'fail', { status: 'succeeded', element: { pay: { status: 'skipped' } } }],
    ['fail', 'skip', { status: 'succeeded', element: { status: 'skipped' } }],
    ['fail', 'continue', { status: 'succeeded', element: expect.objectContaining({ code: 'rejected' }) }],
  ])(
    'where the call says %s and the loop %s, an element that is rejected leaves the others alone',
    async (ofCall = 'fail', ofLoop = 'fail', expected) => {
      const { id } = await start([
        forEach('each', ['1.00', '2.00'], [payItem('each', { onRejected: ofCall }), log('beside')], {
          onRejected: ofLoop,
        }),
        log('after', { list: { $from: 'each' } }),
      ]);
      await decide(id, 'each[0]/pay', 'reject');
      await decide(id, 'each[1]/pay', 'approve');
      const run = await engine.finished(id);
      const list = tools.calls.find(({ body }) => 'list' in body)?.body.list as JsonValue[];
      const element = ofCall === 'skip' ? { pay: (list[0] as { pay: JsonValue }).pay } : list[0];
      expect({ status: run.status, element }).toEqual(expected);
      expect(list[1]).toMatchObject({ pay: { payment: 'P-1' } });
      expect(tools.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['2.00']);
    },
  );

  it('by default, one rejected element fails the run and withdraws what the others ask', async () => {
    const { id } = await start([forEach('each', ['1.00', '2.00'], [payItem('each')])]);
    await engine.asked(id, 2);
    await decide(id, 'each[1]/pay', 'reject');
    const run = await engine.finished(id);
    expect(run.error).toEqual({
      code: 'node_blocked',
      message: 'Node "each[1]/pay" was blocked (rejected). The reason given: "said so"',
    });
    expect(ends(run)).toEqual({ 'each[0]/pay': 'blocked cancelled', 'each[1]/pay': 'blocked rejected' });
    expect(tools.calls).toEqual([]);
  });

  it('count as skipped where each of their elements was, and so does what depends on them', async () => {
    const { id } = await start([
      forEach('each', ['1.00', '2.00'], [payItem('each', { onRejected: 'skip' })]),
      log('after', {}, { dependsOn: ['each'] }),
      forEach('last', ['x'], [log('never')], { dependsOn: ['after'] }),
    ]);
    await decide(id, 'each[0]/pay', 'reject');
    await decide(id, 'each[1]/pay', 'reject');
    const run = await engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(ends(run)).toEqual({
      'each[0]/pay': 'skipped rejected',
      'each[1]/pay': 'skipped rejected',
      after: 'skipped',
    });
    expect(output(run)).toEqual({ last: { status: 'skipped' } });
  });

  /** Drafts an amount: 9.00, and 8.00 once a reason came with the question. */
  const draft: PlanNode = {
    ...{ kind: 'agent', id: 'draft', agent: agentId('helper'), input: 'Say how much.' },
    ...{ data: { why: { $from: 'round', path: '/reason' } }, dependsOn: [], onRejected: 'fail' },
  };
  const draftsByReason = () =>
    model.follow('helper', ({ messages }) => {
      const asked = messages.find(({ role }) => role === 'user')?.content ?? '';
      return { text: asked.includes('too much') ? '8.00' : '9.00' };
    });
  const payDraft = toolNode('pay', 'oa__pay', { payee: 'Acme Ltd', amount: { $from: 'draft' } });

  it('go round again with the reason of a rejection, and do nothing twice that took effect', async () => {
    draftsByReason();
    const beside = toolNode('beside', 'oa__pay_freely', { payee: 'Bolt Ltd', amount: '7.00' });
    const { id } = await start([
      repeat('round', {}, [draft, payDraft, beside]),
      log('after', { paid: { $from: 'round', path: '/pay/payment' } }),
    ]);
    await decide(id, 'round[0]/pay', 'reject', 'too much');
    await decide(id, 'round[1]/pay', 'approve');
    const run = await engine.finished(id);
    expect(ends(run)).toEqual({
      'round[0]/draft': 'succeeded',
      'round[0]/beside': 'succeeded',
      'round[0]/pay': 'blocked rejected',
      'round[1]/draft': 'succeeded',
      'round[1]/pay': 'succeeded',
      after: 'succeeded',
    });
    const paid = tools.callsTo('/payments').map(({ body }) => [body.payee, body.amount]);
    expect(paid).toEqual([
      ['Bolt Ltd', '7.00'],
      ['Acme Ltd', '8.00'],
    ]);
    expect(tools.calls.at(-1)?.body).toEqual({ paid: 'P-1' });
  });

  it('ask nobody again about a call that was rejected, and end with the plan’s word for it', async () => {
    const { id } = await start([
      repeat('round', { atMost: 3 }, [toolNode('pay', 'oa__pay', { payee: 'Acme Ltd', amount: '1.00' })]),
    ]);
    await decide(id, 'round[0]/pay', 'reject');
    const run = await engine.finished(id);
    expect(run.error).toMatchObject({ message: 'Node "round[2]/pay" was blocked (rejected).' });
    expect(run.invocations.map(({ confirmation }) => confirmation !== null)).toEqual([true, false, false]);
  });

  it.each(['in the same process', 'and another process takes it up'])(
    'do not go round again while nobody knows what became of a call of the round, %s',
    async (where) => {
      const first = await startEngine({ database: await connectPostgres({ url, poolSize: 4 }), config });
      const asked = toolNode('asked', 'oa__pay', { payee: 'Acme Ltd', amount: '1.00' });
      const broken = toolNode('broken', 'oa__pay_broken', { payee: 'Acme Ltd', amount: '2.00' });
      const { id } = await first.start({
        agent: agentId('planner'),
        plan: [repeat('round', { atMost: 2 }, [asked, broken])],
      });
      await decide(id, 'round[0]/broken', 'approve');
      await until(async () =>
        ends(await engine.engine.runs.get(id))['round[0]/broken']?.startsWith('unknown'),
      );
      await decide(id, 'round[0]/asked', 'reject');
      await until(
        async () => ends(await engine.engine.runs.get(id))['round[0]/asked'] === 'blocked rejected',
      );
      if (where !== 'in the same process') await first.stop();
      const held = await engine.engine.runs.wait({
        ...{ id, timeoutMs: 300, untilWaiting: false, signal: AbortSignal.timeout(5_000) },
      });
      expect(held?.status).toBe('waiting');
      expect(Object.keys(ends(held))).toEqual(['round[0]/asked', 'round[0]/broken']);
      const confirmation = held?.invocations.find(({ node }) => node === 'round[0]/broken')?.confirmation;
      if (!confirmation) throw new Error('nobody can settle it');
      await until(async () => {
        await endOldAttempt(database, confirmation);
        const settled = await engine.confirmations.settle({
          ...{ id: confirmation, person: personId('li.wei'), status: 'succeeded', detail: 'looked it up' },
          surface: { kind: 'api' },
        });
        return settled.kind === 'settled';
      });
      const run = await engine.finished(id);
      await first.stop();
      expect(ends(run)).toEqual({
        'round[0]/asked': 'blocked rejected',
        'round[0]/broken': 'succeeded',
        'round[1]/asked': 'blocked rejected',
      });
      expect(tools.callsTo('/broken')).toHaveLength(1);
    },
  );

  it('go round again only for what they say', async () => {
    const failing = toolNode('pay', 'oa__pay_refused', { payee: 'Acme Ltd', amount: '1.00' });
    const onRejected = await start([repeat('round', {}, [failing])]);
    await decide(onRejected.id, 'round[0]/pay', 'approve');
    expect(Object.keys(ends(await engine.finished(onRejected.id)))).toEqual(['round[0]/pay']);
    const onFailed = await start([repeat('round', { on: ['failed'], atMost: 2 }, [failing])]);
    await decide(onFailed.id, 'round[0]/pay', 'approve');
    await decide(onFailed.id, 'round[1]/pay', 'approve');
    expect(ends(await engine.finished(onFailed.id))).toEqual({
      'round[0]/pay': 'failed tool_failed',
      'round[1]/pay': 'failed tool_failed',
    });
  });

  it('are taken up by another process where they stood: nothing is asked or done twice', async () => {
    draftsByReason();
    const drafts = () => model.requestsOf('helper').length;
    const before = drafts();
    const first = await startEngine({ database: await connectPostgres({ url, poolSize: 4 }), config });
    const { id } = await first.start({
      agent: agentId('planner'),
      plan: [
        log('begin'),
        forEach(
          'each',
          ['a', 'b'],
          [
            repeat('round', {}, [
              draft,
              toolNode('pay', 'oa__pay', {
                payee: { $from: 'each', path: '/item' },
                amount: { $from: 'draft' },
              }),
            ]),
          ],
          { dependsOn: ['begin'] },
        ),
      ],
    });
    await decide(id, 'each[0]/round[0]/pay', 'reject', 'too much');
    await until(
      async () =>
        ends(await engine.engine.runs.get(id))['each[0]/round[1]/pay'] === 'running' ||
        ends(await engine.engine.runs.get(id))['each[0]/round[1]/pay'] === 'waiting',
    );
    await first.stop();
    await decide(id, 'each[0]/round[1]/pay', 'approve');
    await decide(id, 'each[1]/round[0]/pay', 'approve');
    const run = await engine.finished(id);
    expect(output(run)).toMatchObject({ each: [{ round: { pay: { payment: 'P-1' } } }, { round: {} }] });
    expect(run.invocations.filter(({ confirmation }) => confirmation !== null)).toHaveLength(3);
    expect(drafts() - before).toBe(3);
    expect(tools.callsTo('/log')).toHaveLength(1);
    const paid = tools.callsTo('/payments').map(({ body }) => `${body.payee} ${body.amount}`);
    expect(paid.toSorted()).toEqual(['a 8.00', 'b 9.00']);
  });

  it('that would go through the result of a stubbed call are stubbed themselves, in an evaluation', async () => {
    const { id } = await engine.start({
      ...{ agent: agentId('planner'), evaluation: true },
      plan: [
        toolNode('list', 'oa__pay', { payee: 'Acme Ltd', amount: '1.00' }),
        forEach('each', { $from: 'list', path: '/lines' }, [payItem('each')]),
        forEach('known', ['2.00'], [payItem('known', {}, 'paid')]),
        log('needs', { x: { $from: 'known', path: '/0' } }),
        log('free'),
      ],
    });
    const run = await engine.finished(id);
    expect(ends(run)).toMatchObject({
      ...{ list: 'stubbed', 'known[0]/paid': 'stubbed', free: 'succeeded' },
      needs: 'stubbed depends_on_stub',
    });
    expect(run.status).toBe('succeeded');
    expect(output(run)).toMatchObject({ each: { status: 'stubbed', executed: false } });
  });

  it.each<[string, JsonValue, RegExp]>([
    ['no list', { $from: 'first', path: '/sky' }, /"each" cannot begin: .*no list/],
    ['nothing', { $from: 'first', path: '/rain' }, /"each" cannot begin: .*nothing at "\/rain"/],
  ])('fail in words where what they should go through is %s', async (_what, list, message) => {
    const { id } = await start([toolNode('first', 'oa__weather'), forEach('each', list, [log('x')])]);
    expect((await engine.finished(id)).error).toEqual({
      code: 'node_failed',
      message: expect.stringMatching(message),
    });
  });

  it('make no more calls than a run of the agent may', async () => {
    const { id } = await start([forEach('each', [1, 2, 3, 4, 5], [log('x')])], 'modest');
    expect(await engine.finished(id)).toMatchObject({
      status: 'failed',
      error: { code: 'max_tool_calls', message: expect.stringContaining('3 calls') },
    });
    expect(tools.calls.length).toBeLessThanOrEqual(3);
  });

  it.each<[string, PlanNode[], RegExp]>([
    ['a node id twice', [forEach('each', [], [log('a')]), log('a')], /"a" is there twice/],
    ['its own id inside', [forEach('each', [], [log('each')])], /"each" is there twice/],
    ['punctuation of rounds in an id', [forEach('each', [], [log('a[0]/b')])], /no "\[", "\]" or "\/"/],
    ['no nodes', [forEach('each', [], [])], /loop "each" has no nodes/],
    ['an object in the place of a list', [forEach('each', { a: 1 }, [log('a')])], /neither a list nor/],
    ['a list that is too long', [forEach('each', Array(201).fill(1), [log('a')])], /201 elements/],
    ['a NUL in its list', [forEach('each', ['\u0000'], [log('a')])], /Node "each"/],
    ['an unknown tool inside', [forEach('each', [], [toolNode('a', 'oa__nothing')])], /"oa__nothing"/],
    ['a cycle inside', [forEach('each', [], [log('a', {}, { dependsOn: ['a'] })])], /"a" wait/],
    [
      'a cycle through its inside',
      [forEach('each', [], [log('a', { x: { $from: 'b' } })]), log('b', { x: { $from: 'each' } })],
      /"each", "b" wait for one another/,
    ],
    ['a list out of itself', [forEach('each', { $from: 'each' }, [log('a')])], /"each" wait/],
    [
      'a reference into a loop',
      [forEach('each', [], [log('a')]), log('b', { x: { $from: 'a' } })],
      /"b" depends on "a", which stands inside a loop/,
    ],
    [
      'an edge out of a loop',
      [log('a'), forEach('each', [], [log('b', {}, { dependsOn: ['a'] })])],
      /"b" depends on "a", which does not stand in the same loop/,
    ],
    [
      'more nodes than a plan may have',
      [
        forEach(
          'each',
          [],
          Array.from({ length: 201 }, (_, place) => log(`n${place}`)),
        ),
      ],
      /202 nodes/,
    ],
  ])('are refused with %s, before anything runs', async (_what, plan, message) => {
    await expect(start(plan)).rejects.toMatchObject({
      code: 'invalid_plan',
      message: expect.stringMatching(message),
    });
    expect(tools.calls).toEqual([]);
  });
});

describe('the calls of a plan', () => {
  it('are listed node by node, and in a loop round by round', () => {
    const plan = [repeat('b', {}, [log('y'), forEach('in', [], [log('z')])]), log('a')];
    const paths = ['a', 'b[0]/in[10]/z', 'b[0]/in[9]/z', 'b[1]/y', 'b[0]/y', 'gone'];
    expect(paths.toSorted(orderOfCalls(plan))).toEqual([
      ...['b[0]/y', 'b[0]/in[9]/z', 'b[0]/in[10]/z', 'b[1]/y', 'a', 'gone'],
    ]);
    expect(['x/y', 'a[1]'].toSorted(orderOfCalls([log('a[1]'), log('x/y')]))).toEqual(['a[1]', 'x/y']);
  });
});

describe('a plan with loops', () => {
  const shape = {
    nodes: [
      {
        id: 'each',
        forEach: { $from: 'x', path: '/list' },
        nodes: [
          {
            id: 'round',
            repeat: { atMost: 2, on: ['rejected', 'failed'] },
            nodes: [
              {
                id: 'draft',
                agent: 'helper',
                input: 'Go.',
                data: { why: { $from: 'round', path: '/reason' } },
              },
              { id: 'pay', tool: 'oa__pay', args: { amount: { $from: 'draft' } } },
            ],
          },
        ],
      },
    ],
  };

  it('is shown in the shape in which it was given', () => {
    const parsed = planBody.parse(shape);
    expect(planJson(planNodes(parsed))).toEqual(parsed);
  });

  it.each<[string, object, RegExp]>([
    ['both kinds of loop', { forEach: [], repeat: { atMost: 2 }, nodes: [{ id: 'a', tool: 't' }] }, /either/],
    ['a loop that is a call as well', { forEach: [], tool: 't', nodes: [{ id: 'a', tool: 't' }] }, /either/],
    ['nodes of a call', { tool: 't', nodes: [{ id: 'a', tool: 't' }] }, /calls a tool and has `nodes`/],
    ['a loop without nodes', { forEach: [] }, /without `nodes`/],
    ['arguments of a loop', { forEach: [], args: {}, nodes: [{ id: 'a', tool: 't' }] }, /has `args`/],
    ['data of a tool', { tool: 't', data: {} }, /calls a tool and has `data`; it takes `args`/],
  ])('is refused with %s', (_what, node, message) => {
    const parsed = planBody.parse({ nodes: [{ id: 'x', ...node }] });
    expect(() => planNodes(parsed)).toThrow(message);
  });

  it.each<[string, object]>([
    ['the data of an agent', { agent: 'a', input: 'x', data: deep(65) }],
    ['the list of a loop', { forEach: deep(65), nodes: [{ id: 'a', tool: 't' }] }],
    ['the arguments of a tool', { tool: 't', args: deep(65) }],
  ])('is refused in words where %s is too deep to be kept', (_what, node) => {
    const parsed = planBody.parse({ nodes: [{ id: 'x', ...node }] });
    expect(() => planNodes(parsed)).toThrow(/Node x: .*64 levels/);
  });

  it.each([
    ['one round', { repeat: { atMost: 1 }, nodes: [{ id: 'a', tool: 't' }] }],
    ['eleven rounds', { repeat: { atMost: 11 }, nodes: [{ id: 'a', tool: 't' }] }],
    ['another reason to repeat', { repeat: { atMost: 2, on: ['expired'] }, nodes: [{ id: 'a', tool: 't' }] }],
    ['a text to go through', { forEach: 'abc', nodes: [{ id: 'a', tool: 't' }] }],
    ['no node inside', { forEach: [], nodes: [] }],
    [
      'a third loop inside the second',
      {
        forEach: [],
        nodes: [{ id: 'b', forEach: [], nodes: [{ id: 'c', forEach: [], nodes: [{ id: 'd', tool: 't' }] }] }],
      },
    ],
  ])('has no shape with %s', (_what, node) => {
    expect(planBody.safeParse({ nodes: [{ id: 'x', ...node }] }).success).toBe(false);
  });
});

function deep(levels: number): JsonValue {
  let value: JsonValue = {};
  for (let level = 0; level < levels; level += 1) value = { deeper: value };
  return value;
}
