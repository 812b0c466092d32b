import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { agentId } from '../../src/ids.ts';
import { agent, withTools } from '../agent/sample-config.ts';
import {
  askedAbout,
  BUYER,
  type CaseRig,
  EXECUTORS,
  onlyRequest,
  pay,
  script,
  startRig,
  vote,
} from './case-rig.ts';

describe('what was decided runs once', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({ agents: [agent('buyer'), agent('shaken')] });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    rig.model.requests.length = 0;
  });

  const ungated = (config: Config): Config =>
    withTools(config, (tools) => tools.map((tool) => ({ ...tool, requiresConfirmation: false })));

  it.each(EXECUTORS)(
    '028: the free neighbour of an approved call runs once, too ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [{ tool: 'oa__log' }, pay()]);
      await rig.engine.decide((await onlyRequest(rig.engine, id)).id, 'approve');
      await rig.engine.finished(id);
      expect(rig.payments.callsTo('/log').length).toBe(1);
      expect(rig.payments.callsTo('/payments').length).toBe(1);
    },
  );

  it('029: a model that fails after the payment does not make it happen again, nor does the same vote', async () => {
    rig.model.script('shaken', [
      { calls: [{ id: 'p', name: 'oa__pay', arguments: pay().args }] },
      { status: 500 },
      { breakOff: true },
      { text: 'Paid.' },
    ]);
    const { id } = await rig.engine.start({ agent: agentId('shaken') });
    const request = await onlyRequest(rig.engine, id);
    await rig.engine.decide(request.id, 'approve');
    expect(await rig.engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'Paid.' });
    expect(await vote(rig.engine, request, 'approve')).toMatchObject({ kind: 'repeated' });
    const told = rig.model
      .requestsOf('shaken')
      .slice(1)
      .map(({ messages }) => messages.at(-1)?.content);
    expect(new Set(told)).toEqual(new Set(['{"payment":"P-1","total":"10.00"}']));
    expect(rig.payments.callsTo('/payments').length).toBe(1);
  });

  it.each(EXECUTORS)(
    '031: of twenty votes at once one decides, and the call runs once ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [pay()]);
      const request = await onlyRequest(rig.engine, id);
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () => vote(rig.engine, request, 'approve')),
      );
      expect(outcomes.filter(({ kind }) => kind === 'recorded').length).toBe(1);
      expect(outcomes.filter(({ kind }) => kind === 'repeated').length).toBe(19);
      await rig.engine.finished(id);
      expect(rig.payments.callsTo('/payments').length).toBe(1);
    },
  );

  it.each(
    EXECUTORS.flatMap((through) =>
      (['approve', 'reject'] as const).map((verdict) => ({ ...through, verdict })),
    ),
  )(
    '034, 037: after a restart under a configuration that gates nothing, the stored decision holds ($executor, $verdict)',
    async ({ start, verdict }) => {
      const first = await rig.another();
      const { id } = await start(first, [pay()]);
      const request = await onlyRequest(first, id);
      await first.stop();
      const second = await rig.another(ungated);
      await vote(second, request, verdict);
      const run = await second.finished(id);
      expect(run.invocations).toMatchObject([{ status: verdict === 'approve' ? 'succeeded' : 'blocked' }]);
      expect(rig.payments.callsTo('/payments').length).toBe(verdict === 'approve' ? 1 : 0);
      await second.stop();
    },
  );

  it('035: two approvals in a row give each call one result, as the strictest provider wants it', async () => {
    const { id } = await rig.engine.start({ agent: BUYER, input: script([pay('1.00')], [pay('2.00')]) });
    await rig.engine.decide((await askedAbout(rig.engine, id, '1.00')).id, 'approve');
    await rig.engine.decide((await askedAbout(rig.engine, id, '2.00')).id, 'approve');
    expect((await rig.engine.finished(id)).status).toBe('succeeded');
    expect(rig.model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
    expect(rig.payments.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['1.00', '2.00']);
  });
});
