import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FailedEnd, failedCall, failedFor, gravestOf } from '../../src/agent/node-end.ts';
import type { PlanNode } from '../../src/agent/plan.ts';
import type { Run } from '../../src/agent/run.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId, type ConfirmationId, personId } from '../../src/ids.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import { openPostgres } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { type Edges, forEach, log, repeat } from './loop-nodes.ts';
import { ModelServer } from './model-server.ts';
import { agent, NO_LIMITS, sampleConfig, withTools } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const PLANNER = agentId('planner');

const pay = (id: string, payee: JsonValue, tool = 'pay', edges: Edges = {}) =>
  toolNode(id, `oa__${tool}`, { payee, amount: '1.00' }, edges);
/** Gated, with other arguments in each round: a person is asked each time. */
const asked = (id = 'asked', edges: Edges = {}) =>
  toolNode(id, 'oa__pay', { payee: 'Bolt Ltd', amount: { $from: `${id}-draft` } }, edges);
const draft = (id: string, data: JsonObject = { round: { $from: 'round', path: '/index' } }): PlanNode => ({
  ...{ kind: 'agent', id, agent: agentId('helper'), input: 'Draft it.', data },
  ...{ dependsOn: [], onRejected: 'fail' },
});

/** What the rounds of a loop leave to each other, and what is left of them where the process changes between. */
describe('a round of a loop', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let database: Database;
  let config: ReturnType<typeof sampleConfig>;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await openPostgres();
    const sample = sampleConfig({
      modelUrl: await model.start(),
      toolUrl: await tools.start(),
      agents: [
        agent('planner', { delegates: [agentId('helper'), agentId('buyer')] }),
        agent('helper'),
        agent('buyer'),
        agent('modest', { limits: { ...NO_LIMITS, toolCalls: 3 } }),
      ],
    });
    // Whatever people do, they do while nobody works on the run: it is taken up from its rows each time.
    config = { ...sample, parkAfterMs: 0 };
    engine = await startEngine({ database, config });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
    drafts((data) => `draft ${data.round}`);
  });

  /** What the agent behind the drafts says to the data it is given. */
  const drafts = (answer: (data: JsonObject) => string) =>
    model.follow('helper', ({ messages }) => {
      const question = messages.find(({ role }) => role === 'user')?.content ?? '';
      return { text: answer(JSON.parse(question.slice(question.indexOf('{'))) as JsonObject) };
    });
  const get = (id: Run['id']) => engine.engine.runs.get(id);
  const ends = (run: Run | null) =>
    Object.fromEntries(
      (run?.invocations ?? []).map(({ node, status, error }) => [
        node,
        error ? `${status} ${error.code}` : status,
      ]),
    );
  /** Nobody works on the run any more. */
  const parked = (id: Run['id']) =>
    until(async () => {
      const rows = await rowsOf(
        database.connection,
        sql`select id from runs where id = ${id} and parked_at is not null`,
      );
      return rows.length === 1;
    });
  const reads = (id: Run['id'], node: string, end: string) =>
    until(async () => ends(await get(id))[node] === end, { what: `${node} reads ${end}` });
  const requestOf = (id: Run['id'], node: string): Promise<ConfirmationId> =>
    until(
      async () => {
        const call = (await get(id))?.invocations.find((one) => one.node === node);
        return call?.status === 'waiting' ? call.confirmation : null;
      },
      { what: `people are asked about ${node}` },
    );
  const decide = async (id: Run['id'], node: string, verdict: 'approve' | 'reject', reason = 'said so') =>
    engine.decide(await requestOf(id, node), verdict, reason);
  async function settle(id: Run['id'], node: string, status: 'succeeded' | 'failed' | 'run_again') {
    await reads(id, node, 'unknown unknown');
    const call = (await get(id))?.invocations.find((one) => one.node === node);
    if (!call?.confirmation) throw new Error(`nobody was asked about ${node}`);
    const confirmation = call.confirmation;
    await until(async () => {
      await endOldAttempt(database, confirmation);
      const by = { id: confirmation, person: personId('li.wei'), surface: { kind: 'api' } } as const;
      const settled = await engine.confirmations.settle({ ...by, status, detail: 'looked it up' });
      return settled.kind === 'settled';
    });
    return confirmation;
  }
  const payees = () => tools.callsTo('/payments').map(({ body }) => body.payee);
  const openRequests = async (id: Run['id']) => {
    const requests = await Promise.all(
      ((await get(id))?.invocations ?? []).map(
        ({ confirmation }) => confirmation && engine.confirmations.get(confirmation),
      ),
    );
    return requests.filter((request) => request && request.status === 'pending').length;
  };

  it('pays nobody again who stands elsewhere in a list that comes back without its rejected element', async () => {
    const payeeOf = [
      ['Acme', 'Bolt'],
      ['Bolt', 'Core'],
    ];
    drafts(({ round, place }) => payeeOf[Number(round)]?.[Number(place)] ?? `${round}`);
    const at = (place: number) => draft(`p${place}`, { round: { $from: 'round', path: '/index' }, place });
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        repeat('round', { atMost: 2 }, [
          ...[at(0), at(1)],
          forEach(
            'each',
            [{ $from: 'p0' }, { $from: 'p1' }],
            [pay('pay', { $from: 'each', path: '/item' }, 'pay_freely')],
          ),
          ...[draft('asked-draft'), asked('asked', { dependsOn: ['each'] })],
        ]),
      ],
    });
    await decide(id, 'round[0]/asked', 'reject');
    await decide(id, 'round[1]/asked', 'approve');
    expect((await engine.finished(id)).status).toBe('succeeded');
    expect(payees().toSorted()).toEqual(['Acme', 'Bolt', 'Bolt Ltd', 'Core']);
  });

  it('remembers what every earlier one did, not only the last; and the same twice stays twice', async () => {
    drafts(({ round }) => (round === 1 ? 'Bolt' : 'Acme'));
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        repeat('round', { atMost: 3 }, [
          draft('who'),
          forEach('each', [1, 2], [pay('pay', { $from: 'who' }, 'pay_freely')]),
          toolNode(
            'asked',
            'oa__pay',
            { payee: { $from: 'who' }, amount: { $from: 'who' } },
            { dependsOn: ['each'] },
          ),
        ]),
      ],
    });
    await decide(id, 'round[0]/asked', 'reject');
    await decide(id, 'round[1]/asked', 'reject');
    const run = await engine.finished(id);
    expect(payees().toSorted()).toEqual(['Acme', 'Acme', 'Bolt', 'Bolt']);
    expect(Object.keys(ends(run))).not.toContain('round[2]/each[0]/pay');
  });

  it('waits after a restart for an unknown outcome that comes after what stands from an earlier round', async () => {
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        repeat('round', {}, [
          log('standing'),
          draft('broken-draft'),
          toolNode(
            'broken',
            'oa__pay_broken',
            { payee: 'Acme', amount: { $from: 'broken-draft' } },
            { dependsOn: ['standing'] },
          ),
          draft('asked-draft'),
          asked(),
        ]),
      ],
    });
    await requestOf(id, 'round[0]/broken');
    await decide(id, 'round[0]/asked', 'reject');
    await decide(id, 'round[1]/broken', 'approve');
    await reads(id, 'round[1]/broken', 'unknown unknown');
    await decide(id, 'round[1]/asked', 'reject');
    await reads(id, 'round[1]/asked', 'blocked rejected');
    await parked(id);
    await settle(id, 'round[1]/broken', 'succeeded');
    await decide(id, 'round[2]/asked', 'reject');
    const nodeOf = new Map<unknown, unknown>();
    const story = (await engine.events(id)).flatMap(({ kind, data }) => {
      if (kind === 'tool.called') nodeOf.set(data.invocation, data.node);
      if (kind !== 'tool.called' && kind !== 'tool.finished') return [];
      return [`${nodeOf.get(data.invocation)} ${data.status ?? 'called'}`];
    });
    const settled = story.indexOf('round[1]/broken succeeded');
    expect(settled).toBeGreaterThan(story.indexOf('round[1]/broken unknown'));
    expect(story.indexOf('round[2]/asked-draft called')).toBeGreaterThan(settled);
    expect(tools.callsTo('/broken')).toHaveLength(1);
    expect(tools.callsTo('/log')).toHaveLength(1);
  });

  it.each([
    ['a loop', forEach('each', ['a', 'b'], [pay('open', { $from: 'each', path: '/item' })])],
    ['a loop that repeats', repeat('round', {}, [pay('open', 'Acme')])],
    ['an unknown outcome', pay('broken', 'Acme', 'pay_broken')],
  ])(
    'ends with its run where a node beside %s was rejected while nobody worked on it',
    async (what, node) => {
      const { id } = await engine.start({ agent: PLANNER, plan: [pay('no', 'Bolt'), node] });
      if (what === 'an unknown outcome') {
        await decide(id, 'broken', 'approve');
        await reads(id, 'broken', 'unknown unknown');
      } else await requestOf(id, what === 'a loop' ? 'each[1]/open' : 'round[0]/open');
      const no = await requestOf(id, 'no');
      await parked(id);
      await engine.decide(no, 'reject', 'no');
      expect((await engine.finished(id)).error?.message).toBe(
        'Node "no" was blocked (rejected). The reason given: "no"',
      );
      expect(await openRequests(id)).toBe(0);
      expect(payees()).toEqual([]);
    },
  );

  it('tells the next one, and whoever watches, of a call that was settled as failed while nobody worked on the run', async () => {
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        repeat('round', { atMost: 2, on: ['failed'] }, [
          pay('broken', 'Acme', 'pay_broken'),
          log('tell', { before: { $from: 'round', path: '/before' } }),
        ]),
      ],
    });
    await decide(id, 'round[0]/broken', 'approve');
    await reads(id, 'round[0]/broken', 'unknown unknown');
    await parked(id);
    await settle(id, 'round[0]/broken', 'failed');
    await requestOf(id, 'round[1]/broken');
    await parked(id);
    await decide(id, 'round[1]/broken', 'reject');
    await engine.finished(id);
    const failed = { status: 'failed', code: 'tool_failed', message: 'looked it up' };
    const before = { ...failed, executed: true, retryable: false };
    expect(tools.callsTo('/log').map(({ body }) => body.before)).toEqual([null, before]);
    const finished = (await engine.events(id)).filter(({ kind }) => kind === 'tool.finished');
    expect(finished.map(({ data }) => data.status)).toEqual(
      expect.arrayContaining(['unknown', 'failed', 'blocked']),
    );
  });

  it('counts no node that was skipped because of another one, also after a restart', async () => {
    const { id } = await engine.start({
      agent: agentId('modest'),
      plan: [
        pay('no', 'Acme', 'pay', { onRejected: 'skip' }),
        log('after', {}, { dependsOn: ['no'] }),
        repeat('round', { atMost: 2 }, [pay('pay', 'Bolt')]),
      ],
    });
    await decide(id, 'no', 'reject');
    await reads(id, 'after', 'skipped');
    const third = await requestOf(id, 'round[0]/pay');
    await parked(id);
    await engine.decide(third, 'reject', 'no');
    const run = await engine.finished(id);
    expect(run.error?.message).toBe('Node "round[1]/pay" was blocked (rejected).');
  });

  it('is blocked, not changed, where the data of an agent lead nowhere', async () => {
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        log('first'),
        { ...draft('x', { y: { $from: 'first', path: '/nothing' } }), onRejected: 'continue' },
      ],
    });
    const run = await engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(ends(run).x).toBe('blocked invalid_arguments');
  });

  it('takes, of two rejections that nobody heard, the reason of the one that the plan has first', async () => {
    const after = { dependsOn: ['why'] };
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        repeat('round', { atMost: 2 }, [
          log('why', { why: { $from: 'round', path: '/reason' } }),
          ...[pay('one', 'Acme', 'pay', after), pay('two', 'Bolt', 'pay', after)],
        ]),
      ],
    });
    const one = await requestOf(id, 'round[0]/one');
    const two = await requestOf(id, 'round[0]/two');
    await engine.engine.stop();
    await engine.decide(two, 'reject', 'two');
    await engine.decide(one, 'reject', 'one');
    await engine.stop();
    engine = await startEngine({ database, config });
    await engine.finished(id);
    expect(tools.callsTo('/log').map(({ body }) => body.why)).toEqual([null, 'one']);
  });

  it('does not make a call again that ran again under a new approval', async () => {
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        repeat('round', { atMost: 2 }, [pay('again', 'Acme', 'pay_again'), draft('asked-draft'), asked()]),
      ],
    });
    await decide(id, 'round[0]/again', 'approve');
    await reads(id, 'round[0]/again', 'unknown unknown');
    await decide(id, 'round[0]/asked', 'reject');
    const before = await settle(id, 'round[0]/again', 'run_again');
    const rerun = (await engine.confirmations.get(before))?.supersededBy;
    if (!rerun) throw new Error('nobody is asked about running it again');
    expect(Object.keys(ends(await get(id)))).not.toContain('round[1]/asked');
    await engine.decide(rerun, 'approve');
    await decide(id, 'round[1]/asked', 'approve');
    expect(ends(await engine.finished(id))).toMatchObject({ 'round[0]/again': 'succeeded' });
    expect(tools.callsTo('/flaky')).toHaveLength(2);
  });

  it('is left by cancelling the run, with an unknown outcome in it and people being asked', async () => {
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [repeat('round', {}, [pay('broken', 'Acme', 'pay_broken'), draft('asked-draft'), asked()])],
    });
    await decide(id, 'round[0]/broken', 'approve');
    await reads(id, 'round[0]/broken', 'unknown unknown');
    const open = await requestOf(id, 'round[0]/asked');
    await parked(id);
    await engine.engine.runs.cancel(id);
    expect((await engine.finished(id)).status).toBe('cancelled');
    expect(await engine.confirmations.get(open)).toMatchObject({ status: 'cancelled' });
  });

  it('is the last one where nobody decided in time', async () => {
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [repeat('round', { on: ['rejected', 'failed'] }, [pay('hasty', 'Acme', 'pay_hasty')])],
    });
    expect(ends(await engine.finished(id))).toEqual({ 'round[0]/hasty': 'blocked expired' });
  });

  it('withdraws what the agent in it asks before the next one begins', async () => {
    let turns = 0;
    model.follow('buyer', () => {
      turns += 1;
      return turns === 1
        ? { calls: [{ id: 'p', name: 'oa__pay', arguments: { payee: 'Acme', amount: '1.00' } }] }
        : { text: 'Nothing to buy.' };
    });
    const buyer: PlanNode = {
      ...{
        kind: 'agent',
        id: 'buy',
        agent: agentId('buyer'),
        input: 'Buy.',
        dependsOn: [],
        onRejected: 'fail',
      },
    };
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [repeat('round', { atMost: 2 }, [buyer, draft('asked-draft'), asked()])],
    });
    const child = await until(async () => (await get(id))?.childRuns.find((run) => run !== undefined));
    const inner = await until(async () => {
      for (const run of (await get(id))?.childRuns ?? []) {
        const waiting = (await get(run))?.invocations.find(({ status }) => status === 'waiting');
        if (waiting?.confirmation) return waiting.confirmation;
      }
      return null;
    });
    expect(child).toBeDefined();
    await decide(id, 'round[0]/asked', 'reject');
    await decide(id, 'round[1]/asked', 'approve');
    const run = await engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(ends(run)).toMatchObject({ 'round[0]/buy': 'failed cancelled', 'round[1]/buy': 'succeeded' });
    expect(await engine.confirmations.get(inner)).toMatchObject({ status: 'cancelled' });
  });

  it('names what is gone where its agent lost a tool since the last one', async () => {
    const { id } = await engine.start({
      agent: PLANNER,
      plan: [
        repeat('round', {}, [
          draft('asked-draft'),
          asked(),
          pay('gone', { $from: 'asked-draft' }, 'pay_slowly'),
        ]),
      ],
    });
    await decide(id, 'round[0]/asked', 'reject');
    const gone = await requestOf(id, 'round[1]/gone');
    await parked(id);
    await engine.stop();
    engine = await startEngine({
      database,
      config: withTools(config, (list) => list.filter(({ name }) => name !== 'pay_slowly')),
    });
    await decide(id, 'round[1]/asked', 'reject');
    const run = await engine.finished(id);
    expect(run.error).toEqual({ code: 'plan_changed', message: expect.stringContaining('"round[1]/gone"') });
    expect(await engine.confirmations.get(gone)).toMatchObject({ status: 'cancelled' });
    expect(await openRequests(id)).toBe(0);
    await engine.stop();
    engine = await startEngine({ database, config });
  });
});

describe('of what failed side by side', () => {
  const blocked = (code: string) => failedCall(code, { kind: 'blocked', code, observation: null });
  const failed = (code: string) => failedCall(code, { kind: 'failed', code, observation: null });
  const lost = failedFor({ code: 'plan_changed', message: 'gone' });

  it.each<[string, FailedEnd[], number]>([
    ['nothing', [], -1],
    ['a tool before a person', [blocked('rejected'), failed('tool_failed')], 1],
    ['a person before time', [blocked('expired'), blocked('rejected')], 1],
    [
      'anything before what was withdrawn because of it',
      [failed('cancelled'), blocked('revoked'), blocked('expired')],
      2,
    ],
    ['what nobody can do without', [failed('tool_failed'), lost, blocked('rejected')], 1],
    ['the first in the plan', [blocked('rejected'), blocked('rejected')], 0],
  ])('%s decides, in whatever order it came', (_what, ends, index) => {
    expect(gravestOf(ends, ends)).toBe(ends[index] ?? null);
    expect(gravestOf(ends.toReversed(), ends)).toBe(ends[index] ?? null);
  });
});
