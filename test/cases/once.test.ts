import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId } from '../../src/ids.ts';
import { toolNode } from '../agent/engine-fixture.ts';
import { agent, withTools } from '../agent/sample-config.ts';
import { until } from '../support/until.ts';
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
  /** Set by a test to come between a commit and what follows it. */
  let afterCommit: (() => Promise<void>) | null = null;

  beforeAll(async () => {
    rig = await startRig({
      agents: [agent('buyer'), agent('shaken')],
      wrap: (database) => ({
        ...database,
        async transaction(work, options) {
          const result = await database.transaction(work, options);
          await afterCommit?.();
          return result;
        },
      }),
    });
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

  it('029: a model that fails after the payment, and then a restart, do not make it happen again, nor does the same vote', async () => {
    const fails = [{ status: 500 }, { breakOff: true }] as const;
    rig.model.script('shaken', [
      { calls: [{ id: 'p', name: 'oa__pay', arguments: pay().args }] },
      ...[...fails, { silent: true } as const],
      ...[...fails, { text: 'Paid.' }],
    ]);
    const first = await rig.another();
    const { id } = await first.start({ agent: agentId('shaken') });
    const request = await onlyRequest(first, id);
    await first.decide(request.id, 'approve');
    await until(() => rig.model.requestsOf('shaken').length === 4, { what: 'a model that says nothing' });
    expect(await vote(rig.engine, request, 'approve')).toMatchObject({ kind: 'repeated' });
    await first.stop();
    expect(await rig.engine.finished(id)).toMatchObject({ status: 'succeeded', output: 'Paid.' });
    expect(await vote(rig.engine, request, 'approve')).toMatchObject({ kind: 'repeated' });
    const told = rig.model
      .requestsOf('shaken')
      .slice(1)
      .map(({ messages }) => messages.at(-1)?.content);
    expect(told).toEqual(Array(6).fill('{"payment":"P-1","total":"10.00"}'));
    expect(rig.payments.callsTo('/payments').length).toBe(1);
  });

  it('029: a plan that is taken up behind its payment does not pay again, nor does the same vote', async () => {
    const first = await rig.another();
    const { id } = await first.start({
      agent: BUYER,
      plan: [
        toolNode('paid', 'oa__pay', pay('1.00').args),
        toolNode('next', 'oa__pay', pay('2.00').args, { dependsOn: ['paid'] }),
      ],
    });
    const paid = await askedAbout(first, id, '1.00');
    await first.decide(paid.id, 'approve');
    const next = await askedAbout(first, id, '2.00');
    await first.stop();
    expect(await vote(rig.engine, paid, 'approve')).toMatchObject({ kind: 'repeated' });
    await rig.engine.decide(next.id, 'approve');
    expect((await rig.engine.finished(id)).status).toBe('succeeded');
    expect(rig.payments.callsTo('/payments').map(({ body }) => body.amount)).toEqual(['1.00', '2.00']);
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

  it.each(EXECUTORS)(
    '050: a process that stops just when it has stored its question leaves it to the next one, unasked and unwithdrawn ($executor)',
    async ({ start, executor }) => {
      const session = `stopping ${executor}`;
      const first = await rig.another();
      const asked = () =>
        rowsOf<{ status: string }>(
          rig.database.connection,
          sql`select status from confirmations where session = ${session}`,
        );
      let stopped = false;
      afterCommit = async () => {
        if (stopped || (await asked()).length === 0) return;
        stopped = true;
        await first.stop();
      };
      const { id } = await start(first, [pay()], { session });
      const request = await onlyRequest(rig.engine, id);
      await until(() => stopped);
      afterCommit = null;
      await rig.engine.decide(request.id, 'approve');
      expect((await rig.engine.finished(id)).invocations).toMatchObject([{ status: 'succeeded' }]);
      expect(await asked()).toEqual([{ status: 'approved' }]);
      expect(rig.payments.callsTo('/payments').length).toBe(1);
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
