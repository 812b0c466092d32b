import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Run } from '../../src/agent/run.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { DATABASES } from '../support/databases.ts';
import { type EngineFixture, startEngine, toolNode } from './engine-fixture.ts';
import { ModelServer, toolResult } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { type Seen, sampleHooks } from './sample-hooks.ts';
import { ToolServer } from './tool-server.ts';

interface Scenario {
  readonly name: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly decision?: 'approve' | 'reject' | 'cancel';
  readonly evaluation?: boolean;
  readonly gateFault?: boolean;
  readonly invocation: object;
  /** What the model is told; null where it sees the result itself. */
  readonly observation: JsonObject | string;
  /** How often the tool was reached. */
  readonly sent: number;
  readonly settled: string;
  readonly audit: string;
  readonly execution?: string;
}

const PAYMENT = { payee: 'Acme Ltd', amount: '10.00' };
const RESULT = { payment: 'P-1', total: '10.00' };
const blocked = (code: string, rest: JsonObject = {}) => ({
  status: 'blocked',
  code,
  executed: false,
  reason: null,
  ...rest,
});

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'a call that nothing gates runs',
    tool: 'oa__pay_freely',
    args: PAYMENT,
    invocation: { status: 'succeeded', result: RESULT, confirmation: null },
    observation: '{"payment":"P-1","total":"[amount]"}',
    sent: 1,
    settled: 'succeeded',
    audit: 'tool.executed',
  },
  {
    name: 'a call that a hook denies does not run',
    tool: 'oa__log',
    args: {},
    invocation: {
      status: 'blocked',
      error: { code: 'denied_by_hook', message: 'Logging is not for agents.' },
    },
    observation: blocked('denied_by_hook', { message: 'Logging is not for agents.', retryable: false }),
    sent: 0,
    settled: 'blocked',
    audit: 'call.denied',
  },
  {
    name: 'an approved call runs once',
    tool: 'oa__pay',
    args: PAYMENT,
    decision: 'approve',
    invocation: { status: 'succeeded', result: RESULT },
    observation: '{"payment":"P-1","total":"[amount]"}',
    sent: 1,
    settled: 'succeeded',
    audit: 'tool.executed',
    execution: 'succeeded',
  },
  {
    name: 'a call whose arguments a hook rewrites is asked about, and runs, as rewritten',
    tool: 'oa__pay',
    args: { payee: 'acme', amount: '10.00' },
    decision: 'approve',
    invocation: { status: 'succeeded', args: PAYMENT },
    observation: '{"payment":"P-1","total":"[amount]"}',
    sent: 1,
    settled: 'succeeded',
    audit: 'tool.executed',
    execution: 'succeeded',
  },
  {
    name: 'a rejected call does not run, and the reason reaches the model word for word',
    tool: 'oa__pay',
    args: PAYMENT,
    decision: 'reject',
    invocation: { status: 'blocked', error: { code: 'rejected' } },
    observation: blocked('rejected', { reason: '不行: "see\nme"', retryable: false }),
    sent: 0,
    settled: 'blocked',
    audit: 'call.denied',
  },
  {
    name: 'a call that nobody decides about in time does not run',
    tool: 'oa__pay_hasty',
    args: PAYMENT,
    invocation: { status: 'blocked', error: { code: 'expired' } },
    observation: blocked('expired', { retryable: false }),
    sent: 0,
    settled: 'blocked',
    audit: 'call.denied',
  },
  {
    name: 'a call whose request is withdrawn does not run',
    tool: 'oa__pay',
    args: PAYMENT,
    decision: 'cancel',
    invocation: { status: 'blocked', error: { code: 'cancelled' } },
    observation: blocked('cancelled', { retryable: false, reason: 'not needed' }),
    sent: 0,
    settled: 'blocked',
    audit: 'call.denied',
  },
  {
    name: 'a call that nobody could decide about does not run',
    tool: 'oa__pay_nobody',
    args: PAYMENT,
    invocation: { status: 'blocked', error: { code: 'undeliverable' }, confirmation: expect.any(String) },
    observation: blocked('undeliverable', { retryable: false }),
    sent: 0,
    settled: 'blocked',
    audit: 'call.denied',
  },
  {
    name: 'a call does not run while the gate cannot be asked',
    tool: 'oa__pay',
    args: PAYMENT,
    gateFault: true,
    invocation: { status: 'blocked', confirmation: null, error: { code: 'gate_unavailable' } },
    observation: blocked('gate_unavailable', { retryable: false }),
    sent: 0,
    settled: 'blocked',
    audit: 'call.denied',
  },
  {
    name: 'an approved call that the tool refuses has failed',
    tool: 'oa__pay_refused',
    args: PAYMENT,
    decision: 'approve',
    invocation: {
      status: 'failed',
      result: { error: 'the account is closed' },
      error: { code: 'tool_failed' },
    },
    observation: { status: 'failed', code: 'tool_failed', executed: true, retryable: false },
    sent: 1,
    settled: 'failed',
    audit: 'tool.executed',
    execution: 'failed',
  },
  {
    name: 'a call of an evaluation run is answered by a stub where it is gated',
    tool: 'oa__pay',
    args: PAYMENT,
    evaluation: true,
    invocation: { status: 'stubbed', confirmation: null },
    observation: { status: 'stubbed', executed: false },
    sent: 0,
    settled: 'stubbed',
    audit: 'tool.stubbed',
  },
  {
    name: 'arguments that do not fit the schema are refused, and the message names the one at fault',
    tool: 'oa__pay',
    args: { payee: 'Acme Ltd', amount: '10.00', confirm: 1 },
    invocation: { status: 'blocked', error: { code: 'invalid_arguments' } },
    observation: blocked('invalid_arguments', {
      message: 'Argument "confirm" is wrong: it must be boolean.',
      retryable: true,
    }),
    sent: 0,
    settled: 'blocked',
    audit: 'call.denied',
  },
];

const HOOKS = ['deny-log', 'rewrite-payee', 'redact', 'note'].map((name) => ({ name, options: {} }));
const PATHS: Record<string, string> = { oa__pay_refused: '/refused', oa__pay_broken: '/broken' };

describe.each(DATABASES)('the scenarios on $name', ({ open }) => {
  const seen: Seen = { settled: [], results: [], sessions: [] };
  const model = new ModelServer();
  const tools = new ToolServer();
  let database: Database;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await open();
    engine = await startEngine({
      database,
      config: sampleConfig({
        modelUrl: await model.start(),
        toolUrl: await tools.start(),
        agents: [agent('buyer', { hooks: HOOKS })],
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
    seen.settled.length = 0;
    engine.gateFault = null;
  });

  /** The one call through the model's loop; answers what the model was told. */
  async function react(scenario: Scenario): Promise<{ run: Run; observation: string | null }> {
    model.script('buyer', [
      { calls: [{ id: 'call_0', name: scenario.tool, arguments: scenario.args }] },
      { text: 'Done.' },
    ]);
    const run = await play(scenario, () =>
      engine.start({ agent: agentId('buyer'), evaluation: scenario.evaluation ?? false }),
    );
    expect(run).toMatchObject({ status: 'succeeded', output: 'Done.' });
    const last = model.requests.at(-1)?.messages.at(-1);
    expect(last).toMatchObject({ role: 'tool', tool_call_id: 'call_0' });
    return { run, observation: last?.content ?? null };
  }

  /** The one call as a plan of one node, which goes on whatever happens to it. */
  async function dag(scenario: Scenario): Promise<{ run: Run; observation: string | null }> {
    const run = await play(scenario, () =>
      engine.start({
        agent: agentId('buyer'),
        evaluation: scenario.evaluation ?? false,
        plan: [toolNode('pay', scenario.tool, scenario.args, { onRejected: 'continue' })],
      }),
    );
    expect(run.status).toBe(scenario.settled === 'failed' ? 'failed' : 'succeeded');
    expect(model.requests).toEqual([]);
    const blockedResult = scenario.settled === 'blocked' || scenario.settled === 'stubbed';
    const output = JSON.parse(run.output ?? '{}') as JsonObject;
    return { run, observation: blockedResult ? JSON.stringify(output.pay) : null };
  }

  async function play(scenario: Scenario, start: () => Promise<Run>): Promise<Run> {
    engine.gateFault = scenario.gateFault ? () => Promise.reject(new Error('the database is down')) : null;
    const { id } = await start();
    if (scenario.decision) {
      const [request] = await engine.asked(id);
      if (!request) throw new Error('nobody was asked');
      expect((await engine.engine.runs.get(id))?.status).toBe('waiting');
      expect(request).toMatchObject({ runId: id, tool: scenario.tool });
      if (scenario.decision === 'cancel') {
        const actor = { type: 'system' } as const;
        await engine.confirmations.cancel({ id: request.id, actor, reason: 'not needed' });
      } else {
        await engine.decide(
          request.id,
          scenario.decision,
          scenario.decision === 'reject' ? '不行: "see\nme"' : undefined,
        );
      }
    }
    return engine.finished(id);
  }

  describe.each([
    { executor: 'ReAct', run: react },
    { executor: 'DAG', run: dag },
  ])('through the $executor executor', ({ run: through }) => {
    it.each(SCENARIOS)('$name', async (scenario) => {
      const { run, observation } = await through(scenario);
      expect(run.invocations).toEqual([expect.objectContaining({ tool: scenario.tool })]);
      const invocation = run.invocations[0];
      expect(invocation).toMatchObject(scenario.invocation);
      if (observation !== null) {
        if (typeof scenario.observation === 'string') expect(observation).toBe(scenario.observation);
        else expect(JSON.parse(observation)).toMatchObject(scenario.observation);
        expect(observation).not.toMatch(/secret|li\.wei|李伟|database is down|\.ts:/);
      }
      expect(tools.callsTo(PATHS[scenario.tool] ?? '/payments').length).toBe(scenario.sent);
      if (scenario.sent > 0) {
        expect(tools.calls[0]?.headers['idempotency-key']).toBe(invocation?.id);
        expect(tools.calls[0]?.body).toEqual(invocation?.args);
      }
      expect(seen.settled.map(({ settlement }) => settlement.status)).toEqual([scenario.settled]);
      const ends = (await engine.recorded(run.id)).filter(({ kind }) => /^(tool|call)\./.test(kind));
      expect(ends.map(({ kind }) => kind)).toEqual([scenario.audit]);
      if (scenario.execution && invocation?.confirmation) {
        const request = await engine.confirmations.get(invocation.confirmation);
        expect(request).toMatchObject({ execution: { status: scenario.execution, source: 'executor' } });
      }
    });
  });

  it('show the hooks’ traces and the real result apart from the view', async () => {
    model.script('buyer', [
      { calls: [{ id: 'c', name: 'oa__pay_freely', arguments: { payee: 'acme', amount: '10.00' } }] },
      (request) => ({ text: toolResult(request).total as string }),
    ]);
    const { id } = await engine.start({ agent: agentId('buyer') });
    expect(await engine.finished(id)).toMatchObject({ output: '[amount]' });
    const finished = (await engine.events(id)).find(({ kind }) => kind === 'tool.finished');
    expect(finished?.data).toMatchObject({
      sideEffects: [{ hook: 'rewrite-payee', text: 'spelt the payee out' }],
    });
  });
});
