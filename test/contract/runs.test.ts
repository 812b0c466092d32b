import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { until } from '../support/until.ts';
import { call } from './fakes/model.ts';
import type { Confirmation, Problem, Run } from './shapes.ts';
import { keys, startWorld, type World } from './world.ts';

vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const payment = { payee: 'ACME', amount: '68000.00', currency: 'CNY' };
const small = { payee: 'ACME', amount: '10', currency: 'CNY' };

describe.each(['pglite', 'postgres'])('runs on %s', (database) => {
  let world: World;
  /** Payments that were sent and not answered; until they may be settled, the other tests go on. */
  let lost: { readonly run: Run; readonly id: string };
  let lostNode: { readonly run: Run; readonly id: string };
  beforeAll(async () => {
    world = await startWorld({
      name: 'runs',
      postgresUrl: database === 'postgres' ? inject('postgresUrl') : undefined,
    });
    world.model.script = [{ calls: [call('c1', 'oa__purchase_pay', small)] }, says('Unknown.')];
    lost = await payUnanswered(() => begin({}));
    lostNode = await payUnanswered(() =>
      begin({
        agent: 'planner',
        plan: {
          nodes: [
            { id: 'pay', tool: 'oa__purchase_pay', args: small },
            { id: 'note', tool: 'oa__note', args: { text: 'after' }, dependsOn: ['pay'] },
          ],
        },
      }),
    );
    // Told that nobody knows, the model has its say.
    await finished(lost.run);
  });
  afterAll(() => world?.stop());
  afterEach(() => {
    world.model.script = [];
    world.payments.next = [];
  });

  const begin = async (body: Record<string, unknown>): Promise<Run> => {
    const answer = await world.gate.call<{ run: Run }>('POST', '/v1/runs', {
      key: keys.agent,
      body: { agent: 'procurement', input: 'Pay what is due.', ...body },
    });
    expect(answer.status, answer.text).toBe(202);
    return answer.body.run;
  };
  const finished = async (run: Run, seconds = 30) =>
    (await world.gate.run(run.id, keys.agent, `?wait=${seconds}s`)).body;
  const waitingFor = (run: Run, count = 1): Promise<string[]> =>
    until(
      async () => {
        const { body } = await world.gate.run(run.id, keys.agent);
        const ids = body.invocations
          .filter((one) => one.status === 'waiting')
          .map((one) => String(one.confirmation));
        return ids.length === count && !ids.includes('null') ? ids : undefined;
      },
      { what: `${count} waiting calls` },
    );
  const vote = async (id: string, key: string, verdict = 'approve', reason?: string) => {
    const { argsDigest } = (await world.gate.confirmation(id, keys.liWei)).body;
    return world.gate.call<Confirmation>('POST', `/v1/confirmations/${id}/votes`, {
      key,
      body: { verdict, argsDigest, reason },
    });
  };
  const payUnanswered = async (beginRun: () => Promise<Run>) => {
    world.payments.next = ['hang'];
    const run = await beginRun();
    const id = String((await waitingFor(run))[0]);
    await vote(id, keys.liWei);
    await until(async () => (await executionOf(id)) === 'unknown', { what: 'an unknown outcome' });
    return { run, id };
  };
  const executionOf = async (id: string) =>
    (await world.gate.confirmation(id, keys.liWei)).body.execution.status;
  const settle = (id: string, detail: string) =>
    until(
      async () => {
        const answer = await world.gate.call('POST', `/v1/confirmations/${id}/settlement`, {
          key: keys.sunLi,
          body: { status: 'succeeded', detail },
        });
        return answer.status === 200;
      },
      { deadlineMs: 40_000 },
    );
  const says = (say: string) => ({ say });
  const paid = () => world.payments.ledger.size;

  it('stops a payment, pays once after two people approved, and answers with the run', async () => {
    const before = paid();
    world.model.script = [{ calls: [call('c1', 'oa__purchase_pay', payment)] }, says('Paid.')];
    const run = await begin({ session: 's-7', requester: 'sun.li' });
    expect(run).toMatchObject({
      agent: 'procurement',
      executor: 'react',
      status: expect.stringMatching(/running|waiting/),
      parentRun: null,
      childRuns: [],
    });
    const [id] = await waitingFor(run);
    expect((await world.gate.run(run.id, keys.agent)).body.status).toBe('waiting');
    expect(paid()).toBe(before);
    await vote(String(id), keys.liWei);
    await vote(String(id), keys.wangFang);
    const done = await finished(run);
    expect(done).toMatchObject({
      status: 'succeeded',
      input: 'Pay what is due.',
      output: 'Paid.',
      error: null,
      session: 's-7',
      requester: { id: 'sun.li', name: '孙丽' },
      invocations: [
        {
          callId: 'c1',
          node: null,
          tool: 'oa__purchase_pay',
          args: payment,
          confirmation: id,
          status: 'succeeded',
          error: null,
        },
      ],
    });
    expect(done.finishedAt).toEqual(expect.any(String));
    expect(paid()).toBe(before + 1);
    const heard = world.payments.heard.at(-1);
    expect(heard?.headers['idempotency-key']).toBe(done.invocations[0]?.id);
    expect(heard?.headers.authorization).toBe('Bearer oa-token');
    expect(JSON.parse(String(heard?.body))).toEqual(payment);
    expect(world.model.authorizations.at(-1)).toBe('Bearer model-key');
    const confirmation = (await world.gate.confirmation(String(id), keys.auditor)).body;
    expect(confirmation).toMatchObject({ status: 'approved', execution: { status: 'succeeded' } });
  });

  it('keeps the grant of a run for that run alone', async () => {
    world.model.script = [{ calls: [call('c1', 'oa__purchase_pay', small)] }, says('ok')];
    const run = await begin({});
    const [id] = await waitingFor(run);
    const claim = await world.gate.call<Problem>('POST', `/v1/confirmations/${id}/claim`, {
      key: keys.agent,
      body: { args: small },
    });
    expect([claim.status, claim.body.code]).toEqual([403, 'grant_of_a_run']);
    await vote(String(id), keys.liWei);
    await finished(run);
  });

  it('gives each call of a turn its own result in the order asked, whatever people decide', async () => {
    world.model.script = [
      {
        calls: [
          call('a', 'oa__purchase_pay', { ...small, memo: 'first' }),
          call('b', 'oa__search', { q: 'x' }),
          call('c', 'oa__purchase_pay', { ...small, memo: 'second' }),
        ],
      },
      says('One of two.'),
    ];
    const before = paid();
    const run = await begin({});
    const ids = await waitingFor(run, 2);
    const memo = async (id: string) => String((await world.gate.confirmation(id, keys.liWei)).body.args.memo);
    for (const id of ids)
      await vote(id, keys.liWei, (await memo(id)) === 'first' ? 'approve' : 'reject', 'not "this" one\n不行');
    const done = await finished(run);
    expect(done.status).toBe('succeeded');
    expect(done.invocations.map((one) => [one.callId, one.status])).toEqual([
      ['a', 'succeeded'],
      ['b', 'succeeded'],
      ['c', 'blocked'],
    ]);
    expect(paid()).toBe(before + 1);
    const tools = (world.model.requests.at(-1)?.messages ?? []).filter((message) => message.role === 'tool');
    expect(tools.map((message) => message.tool_call_id)).toEqual(['a', 'b', 'c']);
    const rejected = world.model.toolMessages().get('c') ?? {};
    expect(rejected).toMatchObject({
      status: 'blocked',
      code: 'rejected',
      reason: 'not "this" one\n不行',
      executed: false,
      retryable: false,
      message: expect.any(String),
    });
    expect(JSON.stringify(rejected)).not.toMatch(/li\.wei|李伟/);
  });

  it('tells the model about an expired call', async () => {
    world.model.script = [{ calls: [call('c1', 'oa__quick', {})] }, says('Too late.')];
    const run = await begin({});
    const done = await finished(run);
    expect(done.invocations).toMatchObject([{ status: 'blocked' }]);
    expect(world.model.toolMessages().get('c1')).toMatchObject({
      status: 'blocked',
      code: 'expired',
      reason: null,
      executed: false,
    });
  });

  it('tells the model what was wrong with a call, and runs none of them', async () => {
    world.model.script = [
      {
        calls: [
          call('u', 'oa__refund', {}),
          call('m', 'oa__purchase_pay', { payee: 'x' }),
          call('j', 'oa__purchase_pay', '{"payee":'),
          call('d', 'oa__purchase_pay', '{"payee":"a","payee":"b","amount":"1","currency":"CNY"}'),
          call('n', 'oa__note', '{"n":9007199254740993}'),
          call('p', 'oa__purchase_pay', { ...payment, currency: 'USD' }),
        ],
      },
      says('Sorry.'),
    ];
    const heard = world.payments.heard.length;
    const done = await finished(await begin({}));
    expect(done.status).toBe('succeeded');
    const told = world.model.toolMessages();
    expect(told.get('u')).toMatchObject({
      status: 'blocked',
      code: 'unknown_tool',
      executed: false,
      retryable: false,
    });
    for (const id of ['m', 'j', 'd', 'n'])
      expect(told.get(id), id).toMatchObject({
        status: 'blocked',
        code: 'invalid_arguments',
        executed: false,
        retryable: true,
      });
    expect(String(told.get('n')?.message)).toMatch(/string/);
    expect(told.get('p')).toMatchObject({
      status: 'blocked',
      code: 'policy_error',
      executed: false,
      retryable: true,
    });
    expect(world.payments.heard.length).toBe(heard);
  });

  it.each([
    ['a 4xx is a failure', { status: 422, json: { error: 'no funds' } }, 'failed', true],
    ['a 5xx is unknown', { status: 500, json: {} }, 'unknown', null],
    ['a time-out is unknown', 'hang' as const, 'unknown', null],
    ['a broken connection is unknown', 'reset' as const, 'unknown', null],
    [
      'a redirect is not followed and is no success',
      { status: 302, headers: { location: '/elsewhere' }, json: {} },
      undefined,
      undefined,
    ],
  ])('%s', async (_what, reply, status, executed) => {
    world.payments.next = [reply];
    world.model.script = [{ calls: [call('c1', 'oa__note', { text: 'x' })] }, says('ok')];
    const heard = world.payments.heard.length;
    const done = await finished(await begin({}));
    const message = world.model.toolMessages().get('c1') ?? {};
    if (status === undefined) expect(['failed', 'unknown']).toContain(done.invocations[0]?.status);
    else {
      expect(done.invocations[0]?.status).toBe(status);
      expect(message).toMatchObject({ status, executed, message: expect.any(String) });
    }
    if (status === 'failed') expect(message.code).toEqual(expect.any(String));
    if (status === 'unknown') expect(message.retryable).toBe(false);
    expect(world.payments.heard.length, 'never tried again by itself').toBe(heard + 1);
  });

  it('takes a connection that could not be made for a failure', async () => {
    world.model.script = [{ calls: [call('c1', 'dead__call', {})] }, says('ok')];
    const done = await finished(await begin({ agent: 'helper' }));
    expect(done.invocations).toMatchObject([{ status: 'failed' }]);
    expect(world.model.toolMessages().get('c1')).toMatchObject({
      status: 'failed',
      code: expect.any(String),
    });
  });

  it('sends a GET as a query and truncates only what the model sees', async () => {
    world.payments.next = [{ json: { text: '长'.repeat(1_000) } }];
    world.model.script = [{ calls: [call('c1', 'oa__search', { q: 'paper & ink', page: 2 })] }, says('ok')];
    const done = await finished(await begin({}));
    expect(Object.fromEntries(world.payments.heard.at(-1)?.query ?? [])).toEqual({
      q: 'paper & ink',
      page: '2',
    });
    expect(world.payments.heard.at(-1)?.method).toBe('GET');
    expect(JSON.stringify(done.invocations[0]?.result)).toContain('长'.repeat(1_000));
    const tool = (world.model.requests.at(-1)?.messages ?? []).find((message) => message.role === 'tool');
    expect(String(tool?.content).length).toBeLessThan(600);
    expect(String(tool?.content)).toMatch(/\d+/);
    expect(String(tool?.content).isWellFormed()).toBe(true);
  });

  it('tries a model request at most three times', async () => {
    const down = { raw: { status: 503, json: { error: { message: 'overloaded' } } } };
    world.model.script = [down, { raw: 'reset' }, says('At last.')];
    expect(await finished(await begin({}))).toMatchObject({ status: 'succeeded', output: 'At last.' });
    const before = world.model.requests.length;
    world.model.script = [down, { raw: { status: 429, json: {} } }, down, says('never asked')];
    expect(await finished(await begin({}))).toMatchObject({
      status: 'failed',
      output: null,
      error: expect.anything(),
    });
    expect(world.model.requests.length).toBe(before + 3);
    world.model.script = [
      { raw: { status: 401, json: { error: { message: 'bad key model-key' } } } },
      says('never asked'),
    ];
    const refused = await finished(await begin({}));
    expect(refused.status).toBe('failed');
    expect(JSON.stringify(refused)).not.toContain('model-key');
    expect(world.model.requests.length).toBe(before + 4);
  });

  it('puts instructions and the session context into the first prompt', async () => {
    world.model.script = [says('hello')];
    await finished(await begin({ requester: 'sun.li', session: 'ctx-1' }));
    const first = world.model.requests.at(-1)?.messages ?? [];
    const prompt = first
      .filter((message) => message.role !== 'user')
      .map((message) => message.content)
      .join('\n');
    expect(prompt).toContain('You buy things for Acme.');
    expect(prompt).toContain('acme');
    expect(prompt).toContain('孙丽');
    expect(prompt).toMatch(/20\d\d-\d\d-\d\d/);
    expect(first.filter((message) => message.role === 'user').at(-1)?.content).toBe('Pay what is due.');
    const tools = (world.model.requests.at(-1)?.tools ?? []).map((tool) => tool.function.name);
    expect(tools).toEqual(
      expect.arrayContaining(['oa__purchase_pay', 'oa__note', 'oa__search', 'call_agent']),
    );
  });

  it('runs a sub-agent as a run of its own, with its own gate', async () => {
    world.model.script = [
      { calls: [call('p1', 'call_agent', { agent: 'helper', input: 'pay it' })] },
      { calls: [call('h1', 'oa__purchase_pay', small)] },
      says('Helper paid.'),
      says('All done.'),
    ];
    const before = paid();
    const run = await begin({});
    const child = await until(async () => (await world.gate.run(run.id, keys.agent)).body.childRuns[0]);
    const [id] = await waitingFor({ ...run, id: String(child) });
    await until(async () => (await world.gate.run(run.id, keys.agent)).body.status === 'waiting');
    expect((await world.gate.confirmation(String(id), keys.liWei)).body.agent).toBe('helper');
    await vote(String(id), keys.liWei);
    expect(await finished(run)).toMatchObject({ status: 'succeeded', output: 'All done.' });
    const childRun = (await world.gate.run(String(child), keys.agent)).body;
    expect(childRun).toMatchObject({
      parentRun: run.id,
      agent: 'helper',
      status: 'succeeded',
      output: 'Helper paid.',
    });
    expect(paid()).toBe(before + 1);
    expect(JSON.stringify([...world.model.toolMessages().values()])).toContain('Helper paid.');
  });

  it('blocks a sub-agent outside the list, and a tool outside the list of the agent', async () => {
    world.model.script = [{ calls: [call('x', 'call_agent', { agent: 'other', input: 'x' })] }, says('no')];
    const done = await finished(await begin({}));
    expect(world.model.toolMessages().get('x')).toMatchObject({ status: 'blocked', executed: false });
    expect(done.childRuns).toEqual([]);
    world.model.script = [{ calls: [call('q', 'oa__quick', {})] }, says('no')];
    await finished(await begin({ agent: 'helper' }));
    expect(world.model.toolMessages().get('q')).toMatchObject({ status: 'blocked', code: 'unknown_tool' });
  });

  it('stubs gated calls in an evaluation and asks nobody', async () => {
    world.model.script = [{ calls: [call('c1', 'oa__purchase_pay', payment)] }, says('Evaluated.')];
    const before = paid();
    const cards = world.slack.messages.size;
    const done = await finished(await begin({ evaluation: true }));
    expect(done.invocations).toMatchObject([{ status: 'stubbed', confirmation: null }]);
    expect(world.model.toolMessages().get('c1')).toMatchObject({ status: 'stubbed', executed: false });
    expect([paid(), world.slack.messages.size]).toEqual([before, cards]);
  });

  it('cancels a run with its open request', async () => {
    world.model.script = [{ calls: [call('c1', 'oa__purchase_pay', small)] }, says('never')];
    const run = await begin({});
    const [id] = await waitingFor(run);
    const answer = await world.gate.call<Run>('POST', `/v1/runs/${run.id}/cancel`, { key: keys.agent });
    expect(answer.status, answer.text).toBe(200);
    expect((await finished(run)).status).toBe('cancelled');
    expect((await world.gate.confirmation(String(id), keys.liWei)).body.status).toBe('cancelled');
    expect((await vote(String(id), keys.liWei)).status).toBe(409);
  });

  it('waits until the run waits where asked to, and refuses what is unknown', async () => {
    world.model.script = [{ calls: [call('c1', 'oa__purchase_pay', small)] }, says('x')];
    const run = await begin({});
    const waiting = await world.gate.run(run.id, keys.agent, '?wait=20s&until=waiting');
    expect(waiting.body.status).toBe('waiting');
    await world.gate.call('POST', `/v1/runs/${run.id}/cancel`, { key: keys.agent, body: {} });
    expect((await world.gate.run(run.id, keys.other)).status).toBe(404);
    expect((await world.gate.run('nope', keys.agent)).status).toBe(404);
    const start = (body: unknown, key: string = keys.agent) =>
      world.gate.call<Problem>('POST', '/v1/runs', { key, body });
    const unknown = await start({ agent: 'nobody', input: 'x' }, keys.admin);
    expect(unknown.status).toBe(422);
    expect(unknown.body.code).toEqual(expect.any(String));
    expect((await start({ agent: 'other', input: 'x' })).body.code).toBe('agent_not_allowed');
    expect((await start({ agent: 'procurement', input: 'x', requester: 'nobody' })).body.code).toBe(
      'unknown_requester',
    );
    expect([400, 422]).toContain((await start({ agent: 'procurement' })).status);
    expect((await start({ agent: 'procurement', input: 'x' }, keys.auditor)).status).toBe(403);
  });

  describe('plans', () => {
    const plan = (nodes: unknown[], more = {}) =>
      begin({ agent: 'planner', input: 'plan', plan: { nodes }, ...more });
    const states = (run: Run) => Object.fromEntries(run.invocations.map((one) => [one.node, one.status]));

    it('runs nodes after what they depend on, and takes values out of results', async () => {
      world.payments.next = [{ json: { order: { total: '12.50' } } }, { json: { ok: true } }];
      const run = await plan([
        {
          id: 'pay',
          tool: 'oa__note',
          args: { amount: { $from: 'find', path: '/order/total' } },
          dependsOn: ['find'],
        },
        { id: 'find', tool: 'oa__search', args: { q: 'PO 7' } },
      ]);
      const done = await finished(run);
      expect(done).toMatchObject({ executor: 'dag', status: 'succeeded' });
      expect(states(done)).toEqual({ find: 'succeeded', pay: 'succeeded' });
      expect(JSON.parse(String(world.payments.heard.at(-1)?.body))).toEqual({ amount: '12.50' });
    });

    it.each([
      ['fail', 'failed', undefined],
      ['skip', 'succeeded', 'skipped'],
      ['continue', 'succeeded', 'succeeded'],
    ])('with onRejected %s the run has %s', async (onRejected, status, dependent) => {
      const run = await plan([
        { id: 'pay', tool: 'oa__purchase_pay', args: small, onRejected },
        { id: 'note', tool: 'oa__note', args: { text: 'after' }, dependsOn: ['pay'] },
        { id: 'aside', tool: 'oa__search', args: { q: 'x' } },
      ]);
      const [id] = await waitingFor(run);
      await vote(String(id), keys.liWei, 'reject', 'no');
      const done = await finished(run);
      expect(done.status).toBe(status);
      if (dependent) expect(states(done)).toMatchObject({ note: dependent, aside: 'succeeded' });
      else expect(states(done).note).not.toBe('succeeded');
      expect(states(done).pay).toBe(onRejected === 'skip' ? 'skipped' : 'blocked');
    });

    it('runs an agent as a node', async () => {
      world.model.script = [says('The helper was here.')];
      const done = await finished(await plan([{ id: 'ask', agent: 'helper', input: 'look' }]));
      expect(done.status).toBe('succeeded');
      expect(done.childRuns).toHaveLength(1);
    });

    it.each([
      [
        'a cycle',
        [
          { id: 'a', tool: 'oa__search', dependsOn: ['b'] },
          { id: 'b', tool: 'oa__search', dependsOn: ['a'] },
        ],
      ],
      ['an unknown dependency', [{ id: 'a', tool: 'oa__search', dependsOn: ['zzz'] }]],
      [
        'a doubled id',
        [
          { id: 'a', tool: 'oa__search' },
          { id: 'a', tool: 'oa__search' },
        ],
      ],
      ['an unknown tool', [{ id: 'a', tool: 'oa__nothing' }]],
      ['an unknown agent', [{ id: 'a', agent: 'nobody', input: 'x' }]],
      [
        'a reference to an unknown node',
        [{ id: 'a', tool: 'oa__search', args: { q: { $from: 'zzz', path: '' } } }],
      ],
      ['a tool and an agent at once', [{ id: 'a', tool: 'oa__search', agent: 'helper', input: 'x' }]],
      ['no nodes', []],
    ])('refuses %s before anything runs', async (_what, nodes) => {
      const heard = world.payments.heard.length;
      const answer = await world.gate.call<Problem>('POST', '/v1/runs', {
        key: keys.agent,
        body: { agent: 'planner', input: 'x', plan: { nodes } },
      });
      expect([400, 422]).toContain(answer.status);
      expect(answer.body.code).toEqual(expect.any(String));
      expect(world.payments.heard.length).toBe(heard);
    });
  });

  it('streams the events of a run, resumable, and ends after the last', async () => {
    world.model.script = [{ say: 'thinking', calls: [call('c1', 'oa__purchase_pay', small)] }, says('Done.')];
    const run = await begin({});
    const stream = events(world, run.id);
    const [id] = await waitingFor(run);
    await vote(String(id), keys.liWei);
    const all = await stream;
    const names = all.map((event) => event.name);
    const documented = [
      'run.started',
      'model.delta',
      'tool.called',
      'run.waiting',
      'confirmation.decided',
      'tool.finished',
      'run.finished',
    ];
    for (const name of documented) expect(names, names.join(' ')).toContain(name);
    expect(new Set(names).size).toBeLessThanOrEqual(documented.length);
    expect(names.at(0)).toBe('run.started');
    expect(names.at(-1)).toBe('run.finished');
    expect(JSON.stringify(all.find((event) => event.name === 'run.waiting')?.data)).toContain(String(id));
    const middle = all.findIndex((event) => event.name === 'run.waiting');
    const resumed = await events(world, run.id, String(all[middle]?.id));
    expect(resumed.map((event) => event.id)).toEqual(all.slice(middle + 1).map((event) => event.id));
  });

  it('records an unknown payment for people to settle', async () => {
    await settle(lost.id, 'on the statement');
    expect(await executionOf(lost.id)).toBe('succeeded');
    expect((await finished(lost.run)).status).toBe('succeeded');
  });

  it('holds dependents of an unknown node until it is settled', async () => {
    const { body: held } = await world.gate.run(lostNode.run.id, keys.agent);
    expect(held.status).toBe('waiting');
    expect(held.invocations.find((one) => one.node === 'note')?.status).not.toBe('succeeded');
    await settle(lostNode.id, 'seen');
    const done = await finished(lostNode.run);
    expect(done.status).toBe('succeeded');
    expect(done.invocations.find((one) => one.node === 'note')?.status).toBe('succeeded');
  });
});

interface Streamed {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
}

async function events(world: World, run: string, lastEventId?: string): Promise<Streamed[]> {
  const response = await fetch(`${world.gate.url}/v1/runs/${run}/events`, {
    headers: {
      authorization: `Bearer ${keys.agent}`,
      ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
    },
    signal: AbortSignal.timeout(25_000),
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  return (await response.text()).split(/\n\n+/).flatMap((block) => {
    const field = (name: string) =>
      block
        .split('\n')
        .filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).trim())
        .join('\n');
    return field('data') === ''
      ? []
      : [{ id: field('id'), name: field('event'), data: JSON.parse(field('data')) }];
  });
}
