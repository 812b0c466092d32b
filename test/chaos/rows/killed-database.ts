import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import type { ConfirmationId } from '../../../src/ids.ts';
import { ask, type ConfirmationJson, call, read } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { until } from '../../support/until.ts';
import { closingEvents } from '../closing-events.ts';
import { type DurableService, startDurableService } from '../durable-service.ts';
import { insist } from '../insist.ts';
import type { ChaosRow } from '../row.ts';

const WRITERS = 16;
/** How long everything may take to work again once the database is back, without a restart of the service. */
const RECOVERY_MS = 60_000;

export const killedDatabase: ChaosRow = {
  id: 'F13',
  title: 'PostgreSQL killed under 16 writers, restarted on the same folder; the service lives on',
  volume: { usual: 2, full: 20 },
  async run({ rounds }) {
    const durable = await startDurableService();
    try {
      return await killUnderWriters(durable, rounds);
    } finally {
      await durable.stop();
    }
  },
};

async function killUnderWriters(
  { postgres, databaseUrl, platforms, service }: DurableService,
  rounds: number,
) {
  const asked = new Set<string>();
  const decided = new Map<string, string>();
  let refusedMeanwhile = 0;
  let stopped = false;
  const writer = async (index: number) => {
    for (let turn = index; !stopped; turn += 1) {
      try {
        const request = await ask(service.url);
        asked.add(request.id);
        const verdict = turn % 2 === 0 ? 'approve' : 'reject';
        const vote = await call<ConfirmationJson>(
          service.url,
          'POST',
          `/v1/confirmations/${request.id}/votes`,
          {
            key: KEYS.liWei,
            body: { verdict, reason: 'as agreed', argsDigest: request.argsDigest },
          },
        );
        if (vote.status === 200) decided.set(request.id, vote.body.status);
        else refusedMeanwhile += 1;
      } catch {
        refusedMeanwhile += 1;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const held = await ask(service.url);
  const waiter = insist(() =>
    call<ConfirmationJson>(service.url, 'GET', `/v1/confirmations/${held.id}?wait=60s`),
  );
  const writers = Array.from({ length: WRITERS }, (_, index) => writer(index));

  for (let round = 0; round < rounds; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 400 + ((round * 137) % 500)));
    await postgres.kill();
    await postgres.start();
    const before = decided.size;
    await until(() => decided.size > before + WRITERS, {
      deadlineMs: RECOVERY_MS,
      what: 'decisions after the database came back',
    });
  }
  stopped = true;
  await Promise.all(writers);

  // A wait that outlived it all still wakes, a new card reaches the chat, and the record is numbered and whole.
  const argsDigest = held.argsDigest;
  await call(service.url, 'POST', `/v1/confirmations/${held.id}/votes`, {
    key: KEYS.liWei,
    body: { verdict: 'approve', argsDigest },
  });
  let lost = (await waiter).body.status === 'approved' ? 0 : 1;
  const shown = await ask(service.url);
  await until(
    () => platforms.slack.messages().some(({ blocks }) => JSON.stringify(blocks).includes(shown.id)),
    {
      deadlineMs: RECOVERY_MS,
      what: 'a card after the database came back',
    },
  );
  // Another one: the chat takes a message a second, so this may be over before its card's turn comes.
  const short = await ask(service.url, 'bank__short');
  await until(async () => (await read(service.url, short.id)).status === 'expired', {
    deadlineMs: RECOVERY_MS,
    what: 'an expiry after the database came back',
  });
  const verified = await call<{ ok: boolean }>(service.url, 'GET', '/v1/audit/verify', { key: KEYS.auditor });
  if (!verified.body.ok) lost += 1;

  const database = await connectPostgres({ url: databaseUrl, listen: false });
  let doubled = 0;
  for (const id of asked) {
    const kept = await read(service.url, id);
    const closings = await closingEvents(database, id as ConfirmationId);
    if (kept.status === undefined) lost += 1;
    if (closings > 1 || (kept.status !== 'pending') !== (closings === 1)) doubled += 1;
    if (decided.has(id) && decided.get(id) !== kept.status) lost += 1;
  }
  await database.close();
  return {
    tried: rounds,
    lost,
    doubled,
    letIn: 0,
    note: `${decided.size} decisions answered, ${refusedMeanwhile} refused while the database was away`,
  };
}
