import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { httpTool, withTools } from '../agent/sample-config.ts';
import { type CaseRig, EXECUTORS, onlyRequest, startRig } from './case-rig.ts';

const TOOLS = ['reset', 'half', 'twice', 'torn', 'redirect', 'temporary', 'hang', 'huge', 'empty'].map(
  (name) => httpTool({ name: `odd_${name}`, path: `/${name}`, requiresConfirmation: true, timeoutMs: 300 }),
);

describe('a payment system that misbehaves after an approval', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({
      change: (config) => withTools(config, (tools, id) => (id === 'oa' ? [...tools, ...TOOLS] : tools)),
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
  });

  it.each(
    EXECUTORS.flatMap((through) =>
      [
        ['hangs past the time-out', 'hang', 'unknown'],
        ['resets the connection once it has read the request', 'reset', 'unknown'],
        ['breaks its answer off', 'half', 'unknown'],
        ['redirects elsewhere', 'redirect', 'unknown'],
        ['says that the request belongs elsewhere', 'temporary', 'failed'],
        ['answers twice', 'twice', 'succeeded'],
        ['answers 200 with half a JSON', 'torn', 'succeeded'],
        ['answers with megabytes', 'huge', 'succeeded'],
        ['answers nothing', 'empty', 'succeeded'],
      ].map(([what, path, status]) => ({ ...through, what, path, status })),
    ),
  )(
    '($executor) and $what is reached once, and the call reads $status',
    async ({ executor, start, path, status }) => {
      const { id } = await start(rig.engine, [{ tool: `oa__odd_${path}`, args: {} }]);
      const request = await onlyRequest(rig.engine, id);
      await rig.engine.decide(request.id, 'approve');
      if (executor === 'DAG' && status === 'unknown') {
        // The plan holds: it may have been paid.
        for (;;) {
          const run = await rig.engine.engine.runs.get(id);
          if (run?.status === 'waiting' && run.invocations[0]?.status === 'unknown') break;
        }
        await rig.engine.engine.runs.cancel(id);
      }
      const run = await rig.engine.finished(id);
      expect(run.invocations).toMatchObject([{ status }]);
      expect((await rig.engine.confirmations.get(request.id))?.status).toBe('approved');
      expect(await rig.engine.confirmations.get(request.id)).toMatchObject({
        execution: { status, source: 'executor' },
      });
      expect(rig.payments.calls.map((received) => received.path)).toEqual([`/${path}`]);
    },
  );
});
