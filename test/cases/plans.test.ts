import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PlanNode } from '../../src/agent/plan.ts';
import { agentId } from '../../src/ids.ts';
import type { JsonValue } from '../../src/json.ts';
import { agentNode, toolNode } from '../agent/engine-fixture.ts';
import { agent } from '../agent/sample-config.ts';
import { until } from '../support/until.ts';
import { askedAbout, BUYER, type CaseRig, onlyRequest, PAYMENT, pay, script, startRig } from './case-rig.ts';

const gated = (id: string, amount: string, changes?: Parameters<typeof toolNode>[3]) =>
  toolNode(id, 'oa__pay', { ...PAYMENT, amount }, changes);
const free = (id: string, changes?: Parameters<typeof toolNode>[3]) => toolNode(id, 'oa__log', {}, changes);

describe('a plan', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    const delegates = [agentId('clerk'), agentId('drafter')];
    rig = await startRig({ agents: [agent('buyer', { delegates }), agent('clerk'), agent('drafter')] });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
  });

  const start = (plan: readonly PlanNode[]) => rig.engine.start({ agent: BUYER, plan });
  const statusesOf = async (id: Parameters<typeof rig.engine.engine.runs.get>[0]) =>
    Object.fromEntries(
      ((await rig.engine.engine.runs.get(id))?.invocations ?? []).map(({ node, status }) => [node, status]),
    );

  it('134: waits for both of its last nodes', async () => {
    const { id } = await start([
      free('fork'),
      gated('a', '1.00', { dependsOn: ['fork'] }),
      gated('b', '2.00', { dependsOn: ['fork'] }),
    ]);
    await rig.engine.decide((await askedAbout(rig.engine, id, '1.00')).id, 'approve');
    const second = await askedAbout(rig.engine, id, '2.00');
    await until(async () => (await statusesOf(id)).a === 'succeeded');
    expect((await rig.engine.engine.runs.get(id))?.status).toBe('waiting');
    await rig.engine.decide(second.id, 'approve');
    expect((await rig.engine.finished(id)).status).toBe('succeeded');
  });

  it('136: a branch that works on does not disturb one that waits', async () => {
    const busy = Array.from({ length: 5 }, (_, place) =>
      toolNode(`tick${place}`, 'oa__weather', {}, { dependsOn: place === 0 ? [] : [`tick${place - 1}`] }),
    );
    const { id } = await start([gated('pay', '1.00'), ...busy]);
    const request = await askedAbout(rig.engine, id, '1.00');
    await until(async () => (await statusesOf(id)).tick4 === 'succeeded');
    expect((await rig.engine.confirmations.get(request.id))?.status).toBe('pending');
    expect(await statusesOf(id)).toMatchObject({ pay: 'waiting' });
    await rig.engine.engine.runs.cancel(id);
    expect(rig.payments.callsTo('/payments')).toEqual([]);
  });

  it('137: what follows the approved branch runs while the other one waits', async () => {
    const { id } = await start([
      gated('one', '1.00'),
      free('x', { dependsOn: ['one'] }),
      gated('two', '2.00'),
      free('y', { dependsOn: ['two'] }),
    ]);
    await askedAbout(rig.engine, id, '2.00');
    await rig.engine.decide((await askedAbout(rig.engine, id, '1.00')).id, 'approve');
    await until(async () => (await statusesOf(id)).x === 'succeeded');
    expect(await statusesOf(id)).toEqual({ one: 'succeeded', x: 'succeeded', two: 'waiting' });
    await rig.engine.engine.runs.cancel(id);
  });

  it('142: a loop in a loop, two by two, asks about four calls with identities of their own, through either process', async () => {
    const inner: PlanNode = {
      ...{ id: 'inner', kind: 'for-each', list: ['1.00', '2.00'], dependsOn: [], onRejected: 'fail' },
      nodes: [
        toolNode('pay', 'oa__pay', {
          payee: { $from: 'outer', path: '/item' },
          amount: { $from: 'inner', path: '/item' },
        }),
      ],
    };
    const { id } = await start([
      {
        ...{
          id: 'outer',
          kind: 'for-each',
          list: ['Acme Ltd', 'Bolt Ltd'],
          dependsOn: [],
          onRejected: 'fail',
        },
        nodes: [inner],
      },
    ]);
    const asked = await rig.engine.asked(id, 4);
    const other = await rig.another();
    for (const [place, request] of asked.entries()) {
      await (place % 2 === 0 ? rig.engine : other).decide(request.id, 'approve');
    }
    const run = await rig.engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(run.invocations.map(({ node }) => node).toSorted()).toEqual([
      'outer[0]/inner[0]/pay',
      'outer[0]/inner[1]/pay',
      'outer[1]/inner[0]/pay',
      'outer[1]/inner[1]/pay',
    ]);
    const paid = rig.payments.callsTo('/payments');
    expect(paid.map(({ body }) => `${body.payee} ${body.amount}`).toSorted()).toEqual([
      'Acme Ltd 1.00',
      'Acme Ltd 2.00',
      'Bolt Ltd 1.00',
      'Bolt Ltd 2.00',
    ]);
    const keys = paid.map(({ headers }) => headers['idempotency-key']);
    expect(keys.toSorted()).toEqual(run.invocations.map((call) => call.id).toSorted());
  });

  it('142: a node that is tried again after a failure is another call in each round', async () => {
    const { id } = await start([
      {
        ...{ id: 'try', kind: 'repeat', atMost: 2, on: ['failed'], dependsOn: [], onRejected: 'fail' },
        nodes: [toolNode('pay', 'oa__pay_refused', PAYMENT)],
      },
    ]);
    for (const place of [0, 1]) {
      const round = await rig.engine.asked(id, 1);
      expect(round).toHaveLength(1);
      if (round[0]) await rig.engine.decide(round[0].id, 'approve');
      await until(async () => (await statusesOf(id))[`try[${place}]/pay`] === 'failed');
    }
    const run = await rig.engine.finished(id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'node_failed' } });
    expect(new Set(run.invocations.map(({ confirmation }) => confirmation)).size).toBe(2);
    const keys = rig.payments.calls.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual(run.invocations.map((call) => call.id));
  });

  it('140: a rejection leads back through the producing node, with its reason, to another request', async () => {
    rig.model.follow('drafter', ({ messages }) => {
      const asked = messages.find(({ role }) => role === 'user')?.content ?? '';
      return { text: asked.includes('change the amount') ? '8.00' : '9.00' };
    });
    const draft: PlanNode = {
      ...{ kind: 'agent', id: 'draft', agent: agentId('drafter'), input: 'Say how much.' },
      ...{ dependsOn: [], onRejected: 'fail' },
      data: { rejectedBecause: { $from: 'round', path: '/reason' } },
    };
    const { id } = await start([
      {
        ...{ id: 'round', kind: 'repeat', atMost: 3, on: ['rejected'], dependsOn: [], onRejected: 'fail' },
        nodes: [draft, toolNode('pay', 'oa__pay', { payee: 'Acme Ltd', amount: { $from: 'draft' } })],
      },
      toolNode('after', 'oa__log', { paid: { $from: 'round', path: '/pay/payment' } }),
    ]);
    const first = await askedAbout(rig.engine, id, '9.00');
    await rig.engine.decide(first.id, 'reject', 'change the amount');
    const second = await askedAbout(rig.engine, id, '8.00');
    expect(second.id).not.toBe(first.id);
    expect(second.follows).toMatchObject({ id: first.id, reason: 'change the amount', sameArguments: false });
    await rig.engine.decide(second.id, 'approve');
    const run = await rig.engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(run.invocations.map(({ node, status }) => [node, status])).toEqual([
      ['round[0]/draft', 'succeeded'],
      ['round[0]/pay', 'blocked'],
      ['round[1]/draft', 'succeeded'],
      ['round[1]/pay', 'succeeded'],
      ['after', 'succeeded'],
    ]);
    expect(rig.payments.calls.map(({ body }) => body)).toEqual([
      { payee: 'Acme Ltd', amount: '8.00' },
      { paid: 'P-1' },
    ]);
  });

  it('140: and in a run by turns, through the model', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([pay('9.00')], [pay('8.00')]) });
    const first = await askedAbout(rig.engine, id, '9.00');
    await rig.engine.decide(first.id, 'reject', 'change the amount');
    const second = await askedAbout(rig.engine, id, '8.00');
    expect(second.id).not.toBe(first.id);
    expect(second.follows).toMatchObject({ id: first.id, reason: 'change the amount', sameArguments: false });
    const told = rig.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool');
    expect(told?.content).toContain('change the amount');
    await rig.engine.decide(second.id, 'approve');
    await rig.engine.finished(id);
    expect(rig.payments.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['8.00']);
  });

  it('139: an agent as a node waits at the gate, and nothing behind it begins', async () => {
    const part = { ...agentNode('part', 'clerk'), input: script([pay()]) } as PlanNode;
    const { id } = await start([part, toolNode('after', 'oa__log', { said: { $from: 'part' } })]);
    await until(async () => (await statusesOf(id)).part === 'waiting');
    expect(await statusesOf(id)).toEqual({ part: 'waiting' });
    const child = (await rig.engine.engine.runs.get(id))?.childRuns[0];
    if (!child) throw new Error('there is no child run');
    await rig.engine.decide((await onlyRequest(rig.engine, child)).id, 'reject');
    await rig.engine.finished(id);
    expect(rig.payments.calls.map(({ body }) => body)).toEqual([{ said: 'Done.' }]);
  });

  it.each<[string, JsonValue]>([
    ['a prototype', { $from: 'source', path: '/__proto__/x' }],
    ['a constructor', { $from: 'source', path: '/constructor/name' }],
    ['a method of lists', { $from: 'source', path: '/length' }],
    ['past a value', { $from: 'source', path: '/logged/deeper' }],
    ['no pointer', { $from: 'source', path: 'logged' }],
    ['out of the result', { $from: 'source', path: '/../secret' }],
  ])(
    'a reference to %s gives nothing, and the gated call is not even asked about',
    async (_what, reference) => {
      const { id } = await start([
        free('source'),
        toolNode('pay', 'oa__pay', { payee: 'Acme Ltd', amount: reference }, { onRejected: 'continue' }),
      ]);
      const run = await rig.engine.finished(id);
      expect(run.invocations.find(({ node }) => node === 'pay')).toMatchObject({
        status: 'blocked',
        confirmation: null,
        error: { code: 'invalid_arguments' },
      });
      expect(rig.payments.callsTo('/payments')).toEqual([]);
    },
  );

  it.each<[string, PlanNode[]]>([
    ['a node that is not there', [toolNode('a', 'oa__log', { x: { $from: '__proto__' } })]],
    ['itself', [toolNode('a', 'oa__log', { x: { $from: 'a' } })]],
    [
      'one another',
      [toolNode('a', 'oa__log', { x: { $from: 'b' } }), toolNode('b', 'oa__log', { x: { $from: 'a' } })],
    ],
  ])('a reference to %s keeps the plan from running', async (_what, plan) => {
    await expect(start(plan)).rejects.toMatchObject({ code: 'invalid_plan' });
    expect(rig.payments.calls).toEqual([]);
  });

  it('a reference into a blocked node gives what the model would be told, and what is made of it is gated anew', async () => {
    const { id } = await start([
      gated('first', '1.00', { onRejected: 'continue' }),
      toolNode('second', 'oa__pay', { payee: { $from: 'first', path: '/reason' }, amount: '2.00' }),
    ]);
    const first = await askedAbout(rig.engine, id, '1.00');
    await rig.engine.decide(first.id, 'reject', 'Mallory');
    const second = await askedAbout(rig.engine, id, '2.00');
    expect(second.args.payee).toBe('Mallory');
    await rig.engine.decide(second.id, 'reject');
    await rig.engine.finished(id);
    expect(rig.payments.calls).toEqual([]);
  });

  it('what depends on an outcome that nobody knows is never asked about', async () => {
    const { id } = await start([
      toolNode('a', 'oa__pay_freely_broken', PAYMENT),
      toolNode('b', 'oa__pay', { payee: 'Acme Ltd', amount: { $from: 'a', path: '/total' } }),
    ]);
    await until(async () => (await rig.engine.engine.runs.get(id))?.status === 'waiting');
    expect(await statusesOf(id)).toEqual({ a: 'unknown' });
    await rig.engine.engine.runs.cancel(id);
    expect((await rig.engine.recorded(id)).filter(({ kind }) => kind === 'confirmation.requested')).toEqual(
      [],
    );
  });
});
