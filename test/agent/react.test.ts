import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { agentId, personId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { ModelServer, toolResult, toolResults, type WireCall } from './model-server.ts';
import { agent, NO_LIMITS, sampleConfig } from './sample-config.ts';
import { type Seen, sampleHooks } from './sample-hooks.ts';
import { ToolServer } from './tool-server.ts';

const BUYER = agentId('buyer');
const pay = (id: string, amount: string, name = 'oa__pay'): WireCall => ({
  id,
  name,
  arguments: { payee: 'Acme Ltd', amount },
});
const weather = (id: string): WireCall => ({ id, name: 'oa__weather' });

describe('the ReAct executor', () => {
  const seen: Seen = { settled: [], results: [], sessions: [] };
  const model = new ModelServer();
  const tools = new ToolServer();
  let database: Database;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await openPostgres();
    engine = await startEngine({
      database,
      config: sampleConfig({
        modelUrl: await model.start(),
        toolUrl: await tools.start(),
        agents: [
          agent('buyer', { limits: { ...NO_LIMITS, turns: 4 }, hooks: [{ name: 'greet', options: {} }] }),
        ],
      }),
      hookKinds: sampleHooks(seen),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
    model.requests.length = 0;
    seen.sessions.length = 0;
  });

  const start = () => engine.start({ agent: BUYER });

  it.each([
    ['first', [pay('a', '1.00'), weather('b')]],
    ['last', [weather('b'), pay('a', '1.00')]],
    ['in the middle', [weather('x'), pay('a', '1.00'), weather('y')]],
  ])('runs the calls of one turn side by side, the gated one %s', async (_where, calls) => {
    model.script('buyer', [{ calls }, { text: 'Done.' }]);
    const { id } = await start();
    const [request, ...others] = await engine.asked(id);
    expect(others).toEqual([]);
    // What nothing gates does not wait for the person.
    await until(() => tools.callsTo('/weather').length === calls.length - 1);
    expect(tools.callsTo('/payments')).toEqual([]);
    if (request) await engine.decide(request.id, 'approve');
    const run = await engine.finished(id);
    expect(run.invocations.map(({ callId }) => callId)).toEqual(calls.map((call) => call.id));
    expect(model.requests[1]?.messages.slice(-calls.length).map((message) => message.tool_call_id)).toEqual(
      calls.map((call) => call.id),
    );
    expect(tools.callsTo('/payments').length).toBe(1);
  });

  it('gives each of four gated calls its own end, and asks the model again only when all have one', async () => {
    model.script('buyer', [
      { calls: [pay('a', '1.00'), pay('b', '2.00'), pay('c', '3.00'), pay('d', '4.00')] },
      { text: 'Done.' },
    ]);
    const { id } = await start();
    const requests = await engine.asked(id, 4);
    const of = (amount: string) => {
      const found = requests.find(({ args }) => args.amount === amount);
      if (!found) throw new Error(`nobody was asked about ${amount}`);
      return found.id;
    };
    await engine.decide(of('2.00'), 'approve');
    await until(() => tools.callsTo('/payments').length === 1);
    expect(tools.calls[0]?.body.amount).toBe('2.00');
    expect((await engine.engine.runs.get(id))?.status).toBe('waiting');
    expect(model.requests.length).toBe(1);
    await engine.decide(of('4.00'), 'approve');
    await engine.decide(of('1.00'), 'reject', 'too early');
    await engine.decide(of('3.00'), 'reject');
    const run = await engine.finished(id);
    expect(run.invocations.map(({ status }) => status)).toEqual([
      'blocked',
      'succeeded',
      'blocked',
      'succeeded',
    ]);
    expect(tools.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['2.00', '4.00']);
    expect(toolResults(model.requests[1]).map((text) => JSON.parse(text))).toMatchObject([
      { code: 'rejected', reason: 'too early' },
      { payment: 'P-1' },
      { code: 'rejected', reason: null },
      { payment: 'P-1' },
    ]);
  });

  it('asks afresh where the provider repeats a call id in a later turn', async () => {
    model.script('buyer', [
      { calls: [pay('call_0', '10.00')] },
      { calls: [pay('call_0', '9999.00')] },
      { text: 'Done.' },
    ]);
    const { id } = await start();
    const [first] = await engine.asked(id);
    if (first) await engine.decide(first.id, 'approve');
    const second = await until(async () =>
      (await engine.asked(id)).find(({ args }) => args.amount === '9999.00'),
    );
    expect(tools.callsTo('/payments').length).toBe(1);
    await engine.decide(second.id, 'reject');
    expect((await engine.finished(id)).invocations).toMatchObject([
      { status: 'succeeded', callId: 'call_0' },
      { status: 'blocked', callId: 'call_0' },
    ]);
    expect(tools.callsTo('/payments').length).toBe(1);
  });

  it('refuses, without asking anybody, exactly the call that was rejected before in the run', async () => {
    model.script('buyer', [
      { calls: [{ ...pay('a', '10.00'), arguments: '{"payee":"Acme Ltd","amount":"10.00"}' }] },
      { calls: [{ ...pay('b', '10.00'), arguments: '{ "amount": "10.00", "payee": "Acme Ltd" }' }] },
      { calls: [pay('c', '10.01')] },
      { text: 'Done.' },
    ]);
    const { id } = await start();
    const [first] = await engine.asked(id);
    if (first) await engine.decide(first.id, 'reject', 'no');
    const other = await until(async () =>
      (await engine.asked(id)).find(({ args }) => args.amount === '10.01'),
    );
    expect(toolResult(model.requests[2])).toMatchObject({
      status: 'blocked',
      code: 'rejected',
      retryable: false,
      message: expect.stringMatching(/earlier in this run.*not executed/),
    });
    await engine.decide(other.id, 'approve');
    const run = await engine.finished(id);
    expect(run.invocations.map(({ confirmation }) => confirmation !== null)).toEqual([true, false, true]);
    expect(tools.callsTo('/payments').length).toBe(1);
  });

  it('cuts a very long reason at a character, and passes the rest word for word', async () => {
    const reason = `${'不'.repeat(2_047)}😀"\n`;
    model.script('buyer', [{ calls: [pay('a', '10.00')] }, { text: 'Done.' }]);
    const { id } = await start();
    const [request] = await engine.asked(id);
    if (request) await engine.decide(request.id, 'reject', reason);
    await engine.finished(id);
    expect(toolResult(model.requests[1]).reason).toBe(`${'不'.repeat(2_047)}…`);
  });

  it('hands the approvers’ reasons to the model, apart from the result and without their names', async () => {
    const calls = [
      pay('a', '10.00'),
      pay('b', '11.00', 'oa__pay_refused'),
      pay('c', '12.00', 'oa__pay_broken'),
    ];
    model.script('buyer', [{ calls: [...calls, pay('d', '13.00')] }, { text: 'Done.' }]);
    const { id } = await start();
    const requests = await engine.asked(id, 4);
    const reasons = ['“Contract 7”\n{"status":"failed"}', 'try it', 'try it', undefined];
    for (const [at, request] of requests.entries()) await engine.decide(request.id, 'approve', reasons[at]);
    const run = await engine.finished(id);
    const told = model.requests[1]?.messages.slice(-4).map(({ content }) => String(content)) ?? [];
    const result = { payment: 'P-1', total: '10.00' };
    expect(told.map((text) => JSON.parse(text))).toEqual([
      { status: 'succeeded', executed: true, approvalReasons: [reasons[0]], result },
      expect.objectContaining({ status: 'failed', executed: true, approvalReasons: ['try it'] }),
      expect.objectContaining({ status: 'unknown', executed: null, approvalReasons: ['try it'] }),
      result,
    ]);
    expect(told.join()).not.toMatch(/li\.wei|李伟/);
    expect(run.invocations[0]?.result).toEqual(result);
  });

  it.each<[string, WireCall, Record<string, unknown>]>([
    [
      'a tool that is not there',
      { id: 'a', name: 'oa__pay_twice' },
      { code: 'unknown_tool', retryable: false },
    ],
    ['a tool of another agent', { id: 'a', name: 'other__pay' }, { code: 'unknown_tool' }],
    ['a name that every object has', { id: 'a', name: 'constructor' }, { code: 'unknown_tool' }],
    ['no name at all', { id: 'a' }, { code: 'unknown_tool' }],
    [
      'arguments that are no JSON',
      { ...pay('a', ''), arguments: '{"payee":' },
      { code: 'invalid_arguments' },
    ],
    ['arguments that are no object', { ...pay('a', ''), arguments: '[1]' }, { code: 'invalid_arguments' }],
    [
      'a key twice',
      { ...pay('a', ''), arguments: '{"payee":"a","payee":"b","amount":"1"}' },
      { code: 'invalid_arguments' },
    ],
    [
      'a missing argument',
      { ...pay('a', ''), arguments: { payee: 'Acme Ltd' } },
      { code: 'invalid_arguments', message: 'Argument "amount" is missing.' },
    ],
    [
      'an argument that the tool does not know',
      { ...pay('a', ''), arguments: { payee: 'a', amount: '1', note: 'x' } },
      { code: 'invalid_arguments', message: 'Argument "note" is not known to the tool.' },
    ],
    [
      'a number that a double cannot hold',
      { ...pay('a', ''), arguments: '{"payee":"a","amount":12345678901234567890}' },
      { code: 'invalid_arguments', message: expect.stringContaining('string') },
    ],
  ])('answers %s with a clear refusal, and runs nothing', async (_what, call, expected) => {
    model.script('buyer', [{ calls: [call] }, { text: 'I see.' }]);
    const { id } = await start();
    const run = await engine.finished(id);
    expect(toolResult(model.requests[1])).toMatchObject({ status: 'blocked', executed: false, ...expected });
    expect(run).toMatchObject({
      status: 'succeeded',
      invocations: [{ status: 'blocked', confirmation: null }],
    });
    expect(tools.calls).toEqual([]);
  });

  it('tells calls with the same id, or none, apart', async () => {
    model.script('buyer', [
      { calls: [weather('a'), weather('a'), { name: 'oa__weather' }] },
      { text: 'Done.' },
    ]);
    const { id } = await start();
    // The strict provider would have refused the history.
    expect(await engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'Done.' });
    expect(tools.callsTo('/weather').length).toBe(3);
  });

  it('asks once more after an empty turn, and fails in words after two', async () => {
    model.script('buyer', [{ text: ' \n\u3000' }, { text: 'Here I am.' }]);
    expect(await engine.finished((await start()).id)).toMatchObject({ output: 'Here I am.' });
    model.script('buyer', [{ calls: [] }, { raw: { choices: [{ message: { content: '' } }] } }]);
    expect(await engine.finished((await start()).id)).toMatchObject({
      status: 'failed',
      error: { code: 'empty_answer', message: expect.stringContaining('nothing') },
    });
  });

  it('fails in words when the turns are used up', async () => {
    model.script(
      'buyer',
      Array.from({ length: 9 }, (_, turn) => ({ calls: [weather(`w${turn}`)] })),
    );
    expect(await engine.finished((await start()).id)).toMatchObject({
      status: 'failed',
      error: { code: 'max_turns', message: expect.stringContaining('4 turns') },
    });
    expect(tools.callsTo('/weather').length).toBe(4);
  });

  it('records a result that no database can hold, as far as it can be held', async () => {
    model.script('buyer', [{ calls: [{ id: 'a', name: 'oa__nul' }] }, { text: 'a\u0000b' }]);
    expect(await engine.finished((await start()).id)).toMatchObject({
      status: 'succeeded',
      output: 'a\ufffdb',
      invocations: [{ result: { text: 'a\ufffdb\ufffd' } }],
    });
  });

  it('does not know what became of a call that took too long, and says so to the model', async () => {
    model.script('buyer', [{ calls: [{ id: 'a', name: 'oa__hang' }] }, { text: 'I see.' }]);
    const run = await engine.finished((await start()).id);
    expect(run.invocations).toMatchObject([{ status: 'unknown', result: null }]);
    expect(toolResult(model.requests[1])).toMatchObject({
      status: 'unknown',
      executed: null,
      retryable: false,
    });
    expect(tools.callsTo('/hang').length).toBe(1);
  });

  it('asks the session hooks anew for another person, who gets nothing of the first', async () => {
    model.script('buyer', [{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
    for (const requester of [personId('li.wei'), personId('zhao.min'), personId('li.wei')]) {
      const { id } = await engine.start({ agent: BUYER, session: 'shared', requester });
      await engine.finished(id);
    }
    expect(seen.sessions.map(({ userId }) => userId)).toEqual(['li.wei', 'zhao.min']);
    expect(
      model
        .requestsOf('buyer')
        .map(({ messages }) => /act for (\S+)\./.exec(messages[0]?.content ?? '')?.[1]),
    ).toEqual(['li.wei', 'zhao.min', 'li.wei']);
  });

  it('asks the session hooks once a session, and puts what they say into every first prompt', async () => {
    model.script('buyer', [{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    const runs = await Promise.all([1, 2, 3].map(() => engine.start({ agent: BUYER, session: 'monday' })));
    for (const { id } of runs) await engine.finished(id);
    expect(seen.sessions.length).toBe(1);
    expect(model.requests.length).toBe(3);
    for (const request of model.requests) {
      expect(request.messages[0]).toEqual({
        role: 'system',
        content: 'You buy things for Acme.\n\nToday you act for zhao.min.',
      });
    }
  });

  it('shows its course as events, from anywhere on, to the end', async () => {
    model.script('buyer', [{ calls: [pay('a', '10.00')] }, { text: 'Done.' }]);
    const { id } = await start();
    const watched = engine.events(id);
    const [request] = await engine.asked(id);
    if (request) await engine.decide(request.id, 'approve');
    const events = await watched;
    expect(events.map(({ kind }) => kind)).toEqual([
      'run.started',
      'tool.called',
      'run.waiting',
      'confirmation.decided',
      'tool.finished',
      'model.delta',
      'run.finished',
    ]);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(events[5]?.data).toEqual({ turn: 2, text: 'Done.', first: true });
    expect((await engine.events(id)).length).toBe(7);
    const late = engine.engine.runs.events({ id, afterSeq: 7, signal: AbortSignal.timeout(5_000) });
    for await (const event of late) throw new Error(`there is nothing after the end, not ${event.kind}`);
  });

  it('is stopped by a cancellation, which withdraws what it asks of people', async () => {
    model.script('buyer', [{ calls: [pay('a', '10.00')] }, { text: 'never said' }]);
    const { id } = await start();
    const [request] = await engine.asked(id);
    expect(await engine.engine.runs.cancel(id)).toMatchObject({
      status: 'cancelled',
      output: null,
      invocations: [{ status: 'blocked', error: { code: 'cancelled' } }],
    });
    expect(request && (await engine.confirmations.get(request.id))?.status).toBe('cancelled');
    expect(await engine.engine.runs.cancel(id)).toMatchObject({ status: 'cancelled' });
    expect(model.requests.length).toBe(1);
    expect(tools.calls).toEqual([]);
  });

  it('refuses what cannot be started', async () => {
    await expect(engine.start({ agent: agentId('nobody') })).rejects.toMatchObject({ code: 'unknown_agent' });
    await expect(engine.start({ agent: BUYER, requester: 'x' as never })).rejects.toMatchObject({
      code: 'unknown_requester',
    });
  });
});
