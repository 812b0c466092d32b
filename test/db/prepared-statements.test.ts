import { eq, sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { SYSTEM_ACTOR } from '../../src/audit/audit-event.ts';
import { systemClock } from '../../src/clock.ts';
import { appendAuditEvents } from '../../src/db/audit-store.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import { insertDeliveries } from '../../src/db/delivery-store.ts';
import { createFreezeCardStore } from '../../src/db/freeze-card-store.ts';
import { insertReminders } from '../../src/db/reminder-store.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { areWaitedFor } from '../../src/db/run-parking.ts';
import { createRunStore } from '../../src/db/run-store.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import { agentId, channelId, newRunId, personId } from '../../src/ids.ts';
import { startCore } from '../support/core.ts';
import { newPostgresDatabase } from '../support/databases.ts';

it('of transactions are as many whatever the number of rows they are about', async () => {
  const database = await connectPostgres({ url: await newPostgresDatabase(), poolSize: 1 });
  const core = startCore(database);
  const runs = createRunStore({ database, clock: systemClock });
  const freezeCards = createFreezeCardStore(database);

  /** Each statement that is about a list, once with `count` in it. */
  async function writeAbout(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, index) => index);
    const ids = await Promise.all(numbers.map(() => core.pending()));
    const [first] = ids;
    if (first === undefined) return;
    await database.transaction(async (inside) => {
      await appendAuditEvents(
        inside,
        numbers.map(() => ({
          kind: 'confirmation.requested',
          confirmation: null,
          run: newRunId(),
          actor: SYSTEM_ACTOR,
          data: {},
        })),
      );
      const places = numbers.map((index) => ({
        channel: channelId('pay-feishu'),
        address: { provider: 'feishu', app: 'cli_0', tenant: 't0', chat: '' },
        direct: {
          person: { id: personId(`voter-${index}`), name: 'voter' },
          ids: { openId: `ou_${index}` },
        },
      }));
      await insertDeliveries(inside, { confirmationId: first, places, at: null });
      await inside
        .update(deliveries)
        .set({ messageIds: sql`array[gen_random_uuid()::text]` })
        .where(eq(deliveries.confirmationId, first));
      await insertReminders(inside, { confirmationId: first, kind: 'reminder' });
      const waits = ids.map((confirmation) => ({ kind: 'decision', confirmation }) as const);
      const delegates = numbers.map(() => ({ kind: 'delegate', run: newRunId() }) as const);
      await areWaitedFor(inside, [...waits, ...delegates]);
    });
    for (const _ of numbers) await runs.create(newRun(), 'one that is gone');
    expect(await runs.takeOver({ owner: 'another', limit: 100, lapsed: true, working: [] })).toHaveLength(
      count,
    );
    await database.connection.execute(sql`update runs set status = 'cancelled', finished_at = now()`);
    await freezeCards.refreshBatch({ tools: ['*'], after: null });
  }

  const prepared = async () =>
    (
      await rowsOf<{ statement: string }>(
        database.connection,
        sql`select statement from pg_prepared_statements`,
      )
    )
      .map(({ statement }) => statement)
      .sort();

  await writeAbout(1);
  const known = await prepared();
  expect(known.length).toBeGreaterThan(10);
  await writeAbout(2);
  await writeAbout(5);
  expect(await prepared()).toEqual(known);
  core.stop();
  await database.close();
});

function newRun() {
  const id = newRunId();
  return {
    ...{ id, session: id, agent: agentId('procurement'), organization: 'acme', input: 'x', depth: 0 },
    ...{ executor: 'react' as const, plan: null, requester: null, requesterNamedByAgent: false },
    ...{ evaluation: false, apiKeyId: null, parent: null, hooks: null },
  };
}
