import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FreezeStore } from '../../src/db/freeze-store.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId, personId, type ConfirmationId, type RunId } from '../../src/ids.ts';
import { agent } from '../agent/sample-config.ts';
import { sampleHooks, type Seen } from '../agent/sample-hooks.ts';
import { toolResults } from '../agent/model-server.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { askedAbout, BUYER, type CaseRig, EXECUTORS, onlyRequest, pay, PAYMENT, script, startRig, vote } from './case-rig.ts';

describe('scratch', () => {
  let rig: CaseRig;
  const seen: Seen = { settled: [], results: [], sessions: [] };
  beforeAll(async () => {
    rig = await startRig({
      hookKinds: sampleHooks(seen),
      agents: [
        agent('buyer', { delegates: [agentId('clerk')], hooks: [{ name: 'rewrite-payee', options: {} }] }),
        agent('clerk', { hooks: [{ name: 'greet', options: {} }] }),
      ],
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => { rig.payments.calls.length = 0; rig.model.requests.length = 0; });
  const delegate = (input: string, to: string) => ({ tool: 'call_agent', args: { agent: to, input } });
  const childOf = (id: RunId): Promise<RunId> =>
    until(async () => (await rig.engine.engine.runs.get(id))?.childRuns[0], { what: 'a child run' });

  it('E5 rewritten to the rejected call', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([pay()], [pay('10.00', 'acme')]) });
    const request = await onlyRequest(rig.engine, id);
    await rig.engine.decide(request.id, 'reject');
    await new Promise((r) => setTimeout(r, 500));
    const run = await rig.engine.engine.runs.get(id);
    console.log('E5', run?.status, run?.invocations.map((i) => [i.args, i.status, i.error?.code]));
    await rig.engine.engine.runs.cancel(id);
  });

  it('E5b the rejected call proposed in the rewritten spelling', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([pay('10.00', 'acme')], [pay()]) });
    const request = await onlyRequest(rig.engine, id);
    await rig.engine.decide(request.id, 'reject');
    await new Promise((r) => setTimeout(r, 500));
    const run = await rig.engine.engine.runs.get(id);
    console.log('E5b', run?.status, run?.invocations.map((i) => [i.args, i.status, i.error?.code]));
    await rig.engine.engine.runs.cancel(id);
  });

  it('E8 key order', async () => {
    rig.model.script('buyer', [
      { calls: [{ id: 'call_0', name: 'oa__pay', arguments: '{"payee":"A","amount":"1"}' }] },
      { calls: [{ id: 'call_0', name: 'oa__pay', arguments: ' {"amount":"\\u0031", "payee":"A"}' }] },
      { calls: [{ id: 'call_0', name: 'oa__pay', arguments: '{"amount":"1", "payee":"A"}' }, { id: 'call_0', name: 'oa__pay', arguments: '{"payee":"A", "amount":"1"}' }] },
      { text: 'x' },
    ]);
    const { id } = await rig.engine.start({ agent: BUYER });
    const request = await onlyRequest(rig.engine, id);
    await rig.engine.decide(request.id, 'reject');
    const run = await rig.engine.finished(id);
    console.log('E8', run?.status, run?.invocations.map((i) => [i.args, i.status, i.error?.code]));
  });

  it('E7 evaluation with delegates', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, evaluation: true, input: script([delegate(script([pay()]), 'clerk')]) });
    const run = await rig.engine.finished(id);
    const child = await rig.engine.engine.runs.get(run.childRuns[0] as RunId);
    console.log('E7', run.status, child?.invocations.map((i) => i.status), rig.payments.calls.length, (await rig.engine.recorded(run.childRuns[0] as RunId)).map((e) => e.kind));
  });

  it('E3 ten concurrent first runs of a session, over two processes', async () => {
    const other = await rig.another();
    seen.sessions.length = 0;
    const runs = await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 ? other : rig.engine).start({ agent: agentId('clerk'), session: 'ten', input: script([]) })));
    for (const { id } of runs) console.log((await rig.engine.finished(id)).status);
    console.log('E3', seen.sessions.length, rig.model.requests.filter((r) => JSON.stringify(r.messages).includes('Today you act')).length);
    await other.stop();
  });

  it('E4 rerun under a freeze', async () => {
    const AGAIN = { tool: 'oa__pay_again', args: PAYMENT };
    const { id } = await rig.engine.start({ agent: agentId('clerk'), input: script([AGAIN]) });
    const [request] = await rig.engine.asked(id);
    if (!request) throw new Error();
    await rig.engine.decide(request.id, 'approve');
    await rig.engine.finished(id);
    await endOldAttempt(rig.database, request.id);
    const freezes = new FreezeStore(rig.database);
    const settle = (cid: ConfirmationId, status: 'run_again' | 'succeeded' | 'failed') => rig.engine.confirmations.settle({ id: cid, person: personId('li.wei'), status, detail: 'x', surface: { kind: 'api' } });
    const first = await settle(request.id, 'run_again');
    console.log('E4', first.kind);
    const again = (await rig.engine.confirmations.get(request.id))?.supersededBy as ConfirmationId;
    const freeze = await freezes.begin({ pattern: 'oa__*', reason: 'no', by: { id: personId('li.wei'), name: 'L' } } as never);
    await vote(rig.engine, { id: again }, 'approve');
    await new Promise((r) => setTimeout(r, 2500));
    const a = await rig.engine.confirmations.get(again);
    const f = await rig.engine.confirmations.get(request.id);
    console.log('E4', a?.status, JSON.stringify((a as any)?.execution), f?.supersededBy, JSON.stringify((f as any)?.execution), rig.payments.calls.length);
    console.log((await settle(request.id, 'run_again')));
    void freeze;
  });
});
