import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { agentId, personId } from '../../src/ids.ts';
import { agent } from '../agent/sample-config.ts';
import { faultsOf, sampleWith } from '../config/fixtures.ts';
import { until } from '../support/until.ts';
import { type CaseRig, EXECUTORS, onlyRequest, PAYMENT, startRig, vote } from './case-rig.ts';

const DAY_MS = 86_400_000;
const HASTY = { tool: 'oa__pay_hasty', args: PAYMENT };

describe('time', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({
      agents: [agent('buyer'), agent('outsider', { model: null })],
      change: (config) => {
        const [rule] = config.policies;
        if (!rule) throw new Error('the sample has no policy');
        const within = (tool: string, decideWithinMs: number) => ({
          ...rule,
          id: tool,
          tools: [tool],
          decideWithinMs,
        });
        return {
          ...config,
          policies: [
            ...config.policies,
            within('oa__pay_slowly', 3_000),
            within('oa__huge', DAY_MS),
            within('oa__nul', 30 * DAY_MS),
          ],
        };
      },
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
  });

  it.each(EXECUTORS)(
    '070: over, the call is told to be expired and not executed, and no vote counts any more ($executor)',
    async (through) => {
      const { id } = await through.start(rig.engine, [HASTY]);
      const request = await onlyRequest(rig.engine, id);
      const run = await rig.engine.finished(id);
      expect(through.told(rig, run)).toMatchObject([
        {
          status: 'blocked',
          code: 'expired',
          executed: false,
          message: expect.stringContaining('not executed'),
        },
      ]);
      expect(await vote(rig.engine, request, 'approve')).toMatchObject({
        kind: 'expired',
        request: { status: 'expired' },
      });
      expect(rig.payments.calls).toEqual([]);
    },
  );

  it.each(EXECUTORS)(
    '071: passes while no process is there: the row knows the deadline ($executor)',
    async ({ start }) => {
      const first = await rig.another();
      const { id } = await start(first, [HASTY]);
      const request = await onlyRequest(first, id);
      await first.stop();
      await until(() => request.decideBy.getTime() < Date.now());
      const run = await rig.engine.finished(id);
      expect(run.invocations).toMatchObject([{ status: 'blocked', error: { code: 'expired' } }]);
      expect((await rig.engine.confirmations.get(request.id))?.status).toBe('expired');
    },
  );

  it.each([
    ['oa__pay_slowly', PAYMENT, 3_000],
    ['oa__huge', {}, DAY_MS],
    ['oa__nul', {}, 30 * DAY_MS],
  ])(
    '073, 074: of the rule for %s is the same by every path, and nothing overflows',
    async (tool, args, decideWithinMs) => {
      const warnings: Error[] = [];
      const note = (warning: Error) => warnings.push(warning);
      process.on('warning', note);
      const requests = [];
      for (const { start } of EXECUTORS)
        requests.push(await onlyRequest(rig.engine, (await start(rig.engine, [{ tool, args }])).id));
      const answer = await rig.engine.engine.authorizer.authorize({
        tool,
        args,
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
      if (answer.kind !== 'pending') throw new Error(answer.kind);
      requests.push(await rig.engine.confirmations.get(answer.confirmationId as never));
      for (const request of requests) {
        if (!request) throw new Error('a request is gone');
        expect(request.status).toBe('pending');
        expect(request.decideBy.getTime() - request.createdAt.getTime()).toBe(decideWithinMs);
        await rig.engine.confirmations.cancel({ id: request.id, actor: { type: 'system' }, reason: null });
      }
      process.off('warning', note);
      expect(warnings).toEqual([]);
    },
  );

  it.each(['0s', '-1s', '.inf', 'NaN', '1e3s', '""', '15', '400d'])(
    '074: of %s is no duration',
    (duration) => {
      expect(faultsOf(sampleWith(['decideWithin: 2h', `decideWithin: ${duration}`]))).toEqual([
        expect.stringContaining('policies[0].decideWithin'),
      ]);
    },
  );
});
