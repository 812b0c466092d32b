import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { digestOf } from '../../src/confirmation/digest.ts';
import { dispatchPreToolUse } from '../../src/hook/dispatch-pre-tool-use.ts';
import { GateHook } from '../../src/hook/hook.ts';
import { HookRegistry } from '../../src/hook/hook-registry.ts';
import { agentId, personId } from '../../src/ids.ts';
import { agentNode } from '../agent/engine-fixture.ts';
import { agent } from '../agent/sample-config.ts';
import { faultsOf, sampleWith } from '../config/fixtures.ts';
import { startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';
import { BUYER, type CaseRig, EXECUTORS, onlyRequest, PAYMENT, pay, script, startRig } from './case-rig.ts';

describe('the gate fires', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({
      agents: [
        agent('buyer', { delegates: [agentId('clerk')] }),
        agent('clerk'),
        agent('strict', { requireConfirmationForAll: true }),
        agent('ownerless', { owner: null }),
        agent('outsider', { model: null, requireConfirmationForAll: true }),
      ],
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
  });

  it.each([
    'purchase_pay',
    'mcp__oa__purchase_pay',
    'oa__purchase_pey',
    'OA__purchase_pay',
    'oа__purchase_pay',
  ])('001, 002: a policy for %s, which no tool is called, does not load', (name) => {
    const text = sampleWith(['tools: ["oa__purchase_pay", "bank__*"]', `tools: ["${name}", "bank__*"]`]);
    expect(faultsOf(text)).toEqual([expect.stringContaining(name)]);
  });

  it('004: asks once about a sensitive tool, by whatever path it is called', async () => {
    const runs = [
      await rig.engine.start({ agent: BUYER, input: script([pay()]) }),
      await rig.engine.start({
        agent: BUYER,
        plan: [{ ...agentNode('part', 'clerk'), input: script([pay()]) } as never],
      }),
      await rig.engine.start({
        agent: BUYER,
        input: script([{ tool: 'call_agent', args: { agent: 'clerk', input: script([pay()]) } }]),
      }),
      await EXECUTORS[1]?.start(rig.engine, [pay()]),
    ];
    for (const run of runs) {
      if (!run) throw new Error('a run is missing');
      const asking = async () => {
        const current = await rig.engine.engine.runs.get(run.id);
        return (
          current?.childRuns[0] ??
          (current?.invocations.some(({ confirmation }) => confirmation) ? run.id : null)
        );
      };
      let at = await asking();
      while (at === null) at = await asking();
      expect(await onlyRequest(rig.engine, at)).toMatchObject({ tool: 'oa__pay', args: PAYMENT, runId: at });
      await rig.engine.engine.runs.cancel(run.id);
    }
    expect(rig.payments.calls).toEqual([]);
  });

  it.each(EXECUTORS)(
    '004: asks about every tool of an agent that has all confirmed ($executor)',
    async (through) => {
      const { id } = await through.start(rig.engine, [{ tool: 'oa__weather' }], { agent: agentId('strict') });
      const request = await onlyRequest(rig.engine, id);
      expect(rig.payments.calls).toEqual([]);
      await rig.engine.decide(request.id, 'approve');
      expect((await rig.engine.finished(id)).invocations).toMatchObject([{ status: 'succeeded' }]);
      expect(rig.payments.calls.length).toBe(1);
    },
  );

  it('005: a call without context, and a policy without an answer, let nothing run', async () => {
    class OpenGate extends GateHook {
      readonly name = 'confirmation-gate';
      async execute() {
        return { allow: true as const };
      }
    }
    for (const context of [undefined, null, {}, { toolName: 'oa__pay' }]) {
      const outcome = await dispatchPreToolUse({
        registry: new HookRegistry({ hooks: [], gate: new OpenGate() }),
        context: context as never,
        validateArgs: () => ({ ok: true }),
        signal: new AbortController().signal,
        clock: systemClock,
        onHookFailed: () => {},
      });
      expect(outcome).toMatchObject({ kind: 'denied', code: 'gate_unavailable' });
    }
    const database = await openPostgres();
    const core = startCore(database);
    for (const answer of [{}, { kind: undefined }, { kind: 'policy' }, { kind: 'maybe' }]) {
      core.match = () => answer as never;
      await expect(core.ask({ amount: '1' })).rejects.toThrow();
    }
    core.stop();
    await database.close();
  });

  it.each(EXECUTORS)(
    '007: a gate whose table is gone lets nothing run, and says so ($executor)',
    async (through) => {
      await rig.database.connection.execute(sql`alter table confirmations rename to confirmations_elsewhere`);
      const { id } = await through.start(rig.engine, [pay()]);
      const run = await rig.engine
        .finished(id)
        .finally(() =>
          rig.database.connection.execute(sql`alter table confirmations_elsewhere rename to confirmations`),
        );
      expect(through.told(rig, run)).toMatchObject([
        { status: 'blocked', code: 'gate_unavailable', executed: false },
      ]);
      expect(JSON.stringify(through.told(rig, run))).not.toMatch(/confirmations|relation|sql/i);
      expect(rig.payments.calls).toEqual([]);
      const kinds = (await rig.engine.recorded(id)).map(({ kind }) => kind);
      expect(kinds).toEqual(['run.started', 'hook.failed', 'call.denied', 'run.finished']);
    },
  );

  it('008: true and 1 are different arguments, and a grant for one is none for the other', async () => {
    const ask = await rig.engine.engine.authorizer.authorize({
      tool: 'bank__transfer',
      args: { confirm: true },
      agent: agentId('outsider'),
      session: null,
      callId: null,
      requester: personId('zhao.min'),
      summary: null,
      metadata: {},
      apiKeyId: 'key',
      idempotencyKey: null,
      bodyDigest: 'sha256:1',
    });
    if (ask.kind !== 'pending') throw new Error(ask.kind);
    const id = ask.confirmationId as never;
    await rig.engine.decide(id, 'approve');
    const actor = { type: 'key', id: 'key', agent: agentId('outsider') } as const;
    for (const args of [{ confirm: 1 }, { confirm: 'true' }, {}, { confirm: true, extra: null }])
      expect(await rig.engine.confirmations.claim({ id, actor, args })).toMatchObject({
        code: 'args_changed',
      });
    expect(await rig.engine.confirmations.claim({ id, actor, args: { confirm: true } })).toMatchObject({
      kind: 'claimed',
    });
    const call = { organization: 'acme', tool: 't', toolVersion: null };
    expect(digestOf({ ...call, args: { confirm: true } })).not.toBe(
      digestOf({ ...call, args: { confirm: 1 } }),
    );
  });

  it.each(
    EXECUTORS.flatMap((through) => [
      { ...through, order: 'gated first', calls: [pay(), { tool: 'oa__weather' }] },
      { ...through, order: 'free first', calls: [{ tool: 'oa__weather' }, pay()] },
    ]),
  )('010: one request, and the free call does not wait ($executor, $order)', async ({ start, calls }) => {
    const { id } = await start(rig.engine, calls);
    const request = await onlyRequest(rig.engine, id);
    while (rig.payments.callsTo('/weather').length === 0) await rig.engine.engine.runs.get(id);
    expect(rig.payments.callsTo('/payments')).toEqual([]);
    await rig.engine.decide(request.id, 'approve');
    expect((await rig.engine.finished(id)).invocations.map(({ status }) => status)).toEqual([
      'succeeded',
      'succeeded',
    ]);
    expect(rig.payments.callsTo('/payments').length).toBe(1);
  });

  it.each(EXECUTORS)(
    'a call for which nobody answers is not asked about and does not run ($executor)',
    async (through) => {
      const { id } = await through.start(rig.engine, [pay()], { agent: agentId('ownerless') });
      expect((await rig.engine.finished(id)).invocations).toMatchObject([
        { status: 'blocked', confirmation: null },
      ]);
      expect(rig.payments.calls).toEqual([]);
    },
  );

  it.each(EXECUTORS)(
    'an evaluation never runs what is gated, says so, and asks nobody ($executor)',
    async (through) => {
      const calls = [pay(), { tool: 'oa__pay_hasty', args: PAYMENT }, { tool: 'oa__weather' }];
      const { id } = await through.start(rig.engine, calls, { evaluation: true });
      const run = await rig.engine.finished(id);
      expect(run).toMatchObject({ evaluation: true });
      expect(run.invocations.map(({ status }) => status)).toEqual(['stubbed', 'stubbed', 'succeeded']);
      expect(through.told(rig, run).slice(0, 2)).toEqual([
        { status: 'stubbed', executed: false },
        { status: 'stubbed', executed: false },
      ]);
      expect(rig.payments.callsTo('/payments')).toEqual([]);
      const stubbed = (await rig.engine.recorded(id)).filter(({ kind }) => kind === 'tool.stubbed');
      expect(stubbed).toMatchObject([{ data: { evaluation: true } }, { data: { evaluation: true } }]);
      expect((await rig.engine.recorded(id)).filter(({ kind }) => kind === 'confirmation.requested')).toEqual(
        [],
      );
    },
  );

  it('an evaluation stays one in the run of a delegate', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      evaluation: true,
      input: script([{ tool: 'call_agent', args: { agent: 'clerk', input: script([pay()]) } }]),
    });
    const [child] = (await rig.engine.finished(id)).childRuns;
    if (!child) throw new Error('there is no child run');
    expect(await rig.engine.engine.runs.get(child)).toMatchObject({
      evaluation: true,
      invocations: [{ status: 'stubbed' }],
    });
    expect(rig.payments.calls).toEqual([]);
  });
});
