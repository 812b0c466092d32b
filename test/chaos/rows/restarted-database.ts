import { randomUUID } from 'node:crypto';
import { type ConfirmationJson, call, PAYMENT } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { type DurableService, startDurableService } from '../durable-service.ts';
import { insist } from '../insist.ts';
import type { ChaosRow } from '../row.ts';

const LOOPS = 16;
const RESTART_EVERY_MS = 5_000;

export const restartedDatabase: ChaosRow = {
  id: 'F14',
  title: 'PostgreSQL restarted again and again while calls are asked about, decided, resumed and claimed',
  volume: { usual: 60, full: 5_000 },
  async run({ rounds }) {
    const durable = await startDurableService();
    try {
      return await restartUnder(durable, rounds);
    } finally {
      await durable.stop();
    }
  },
};

async function restartUnder({ postgres, service }: DurableService, rounds: number) {
  const counts = { lost: 0, doubled: 0, wrong: 0, repeated: 0, restarts: 0 };
  let begun = 0;
  let stopped = false;
  const restarts = (async () => {
    while (!stopped) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(RESTART_EVERY_MS, rounds * 12)));
      await postgres.shutDown();
      await postgres.start();
      counts.restarts += 1;
    }
  })();

  const step = async <T>(run: () => Promise<{ status: number; body: T }>) => {
    const answer = await insist(run);
    counts.repeated += answer.tries - 1;
    return answer;
  };

  const once = async (round: number) => {
    const key = randomUUID();
    const asked = await step(async () => {
      const answer = await call<{ confirmation: ConfirmationJson }>(
        service.url,
        'POST',
        '/v1/confirmations',
        {
          headers: { 'idempotency-key': key },
          body: { tool: 'bank__transfer', args: PAYMENT, agent: 'procurement', requester: 'zhao.min' },
        },
      );
      // A gate that met the restart denies the call, and whoever asked asks again.
      return answer.body.confirmation === undefined ? { ...answer, status: 503 } : answer;
    });
    const { id, argsDigest } = asked.body.confirmation;
    const path = `/v1/confirmations/${id}`;
    const resumed = step(() => call<ConfirmationJson>(service.url, 'GET', `${path}?wait=30s`));
    const verdict = round % 3 === 0 ? 'reject' : 'approve';
    const body = { verdict, reason: 'as agreed', argsDigest };
    const voted = await step(() => call(service.url, 'POST', `${path}/votes`, { key: KEYS.liWei, body }));
    const expected = verdict === 'approve' ? 'approved' : 'rejected';
    if (voted.status !== 200) counts.lost += 1;
    if ((await resumed).body.status !== expected) counts.wrong += 1;

    let granted = 0;
    const claim = async () => {
      const answer = await call<{ claimed?: true }>(service.url, 'POST', `${path}/claim`, {
        body: { args: PAYMENT },
      });
      if (answer.status === 200) granted += 1;
      return answer;
    };
    const claims = await Promise.all([step(claim), step(claim)]);
    if (granted > 1 || (verdict === 'reject' && granted > 0)) counts.doubled += 1;
    // Where an answer was lost, the grant may have been used up by it: then nobody may run the call.
    const answerLost = claims.some(({ tries }) => tries > 1);
    if (verdict === 'approve' && granted === 0 && !answerLost) counts.lost += 1;
  };
  const loop = async () => {
    while (begun < rounds) {
      begun += 1;
      await once(begun);
    }
  };
  try {
    await Promise.all(Array.from({ length: LOOPS }, loop));
  } finally {
    stopped = true;
    await restarts;
  }
  return {
    tried: counts.restarts > 0 ? begun : 0,
    lost: counts.lost,
    doubled: counts.doubled,
    letIn: counts.wrong,
    note: `${counts.restarts} restarts, ${counts.repeated} answers that asked to try again`,
  };
}
