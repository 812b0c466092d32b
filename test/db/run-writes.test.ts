import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewAuditEvent } from '../../src/audit/audit-event.ts';
import { canonicalEventParts, canonicalEventText, sha256Hex } from '../../src/audit/event-hash.ts';
import { systemClock } from '../../src/clock.ts';
import { createAuditRecorder } from '../../src/db/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import { createRunStore } from '../../src/db/run-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { agentId, newInvocationId, newRunId, type RunId } from '../../src/ids.ts';
import { DATABASES } from '../support/databases.ts';

const HOSTILE = {
  '": {': 'é😀\u2028"\\',
  at: '"at":"',
  requestPrev: '","requestPrev":"',
  deep: [1e21, -0, null],
};

describe.each(DATABASES)('what a run writes on $name', ({ open }) => {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });
  afterAll(() => database.close());

  async function newRun() {
    const id = newRunId();
    const creation = await createRunStore({ database, clock: systemClock }).create(
      {
        id,
        organization: 'acme',
        agent: agentId('procurement'),
        executor: 'react',
        input: 'x',
        plan: null,
        session: id,
        requester: null,
        requesterNamedByAgent: false,
        evaluation: false,
        hooks: null,
        apiKeyId: null,
        parent: null,
        depth: 0,
      },
      'one',
    );
    if (creation.kind !== 'created') throw new Error('the run is not new');
    return createRunStore({ database, clock: systemClock }).record(creation.lease);
  }

  const eventOf = (run: RunId, data: NewAuditEvent['data'] = {}): NewAuditEvent => ({
    kind: 'tool.executed',
    confirmation: null,
    run,
    actor: { type: 'agent', id: 'procurement', name: '采购 "agent"' },
    data,
  });

  const proposed = async (record: Awaited<ReturnType<typeof newRun>>, place: number) => {
    const id = newInvocationId();
    await record.proposed({
      id,
      position: { kind: 'turn', turn: 1, place },
      callId: null,
      tool: 'oa__pay',
      args: {},
      proposedDigest: null,
    });
    return id;
  };

  const settle = (record: Awaited<ReturnType<typeof newRun>>, id: ReturnType<typeof newInvocationId>) =>
    record.settled({
      id,
      status: 'succeeded',
      error: null,
      confirmation: null,
      result: { paid: true },
      view: '{"paid":true}',
      sideEffects: [],
      event: eventOf(record.run, HOSTILE),
    });

  const chainOfRun = (run: RunId) =>
    database.connection
      .select()
      .from(auditEvents)
      .where(sql`chain = ${`run:${run}`}`)
      .orderBy(auditEvents.requestSeq);

  it('is linked on the record as any event is, beside others that are written at the same moment', async () => {
    const record = await newRun();
    const ids = await Promise.all(Array.from({ length: 20 }, (_, place) => proposed(record, place)));
    const others = createAuditRecorder(database);
    await Promise.all(
      ids.flatMap((id) => [
        settle(record, id),
        others.record({ ...eventOf(record.run), kind: 'hook.failed' }),
      ]),
    );
    await record.finish({ status: 'succeeded', output: 'done', error: null });

    const rows = await chainOfRun(record.run);
    expect(rows).toHaveLength(1 + 20 + 20 + 1);
    let earlier = { hash: '', atMs: 0 };
    for (const [index, row] of rows.entries()) {
      expect(row.requestSeq).toBe(index + 1);
      expect(row.requestPrev).toBe(earlier.hash);
      expect(row.requestHash).toBe(sha256Hex(row.canonical));
      expect(row.at.getTime()).toBeGreaterThanOrEqual(earlier.atMs);
      expect(row.canonical).toBe(
        canonicalEventText({
          id: row.id,
          at: row.at.toISOString(),
          kind: row.kind,
          confirmation: row.confirmationId,
          run: row.runId,
          actor: { type: row.actorType, id: row.actorId, name: row.actorName },
          data: row.data,
          requestSeq: row.requestSeq,
          requestPrev: row.requestPrev,
        }),
      );
      earlier = { hash: row.requestHash, atMs: row.at.getTime() };
    }
    expect(rows.filter(({ kind }) => kind === 'tool.executed')[0]?.data).toEqual({
      ...HOSTILE,
      deep: [1e21, 0, null],
    });
  });

  it('is written once, however often the writer tries again', async () => {
    const record = await newRun();
    const id = await proposed(record, 0);
    await settle(record, id);
    await settle(record, id);
    expect((await chainOfRun(record.run)).map(({ kind }) => kind)).toEqual(['run.started', 'tool.executed']);
    const { invocations } = await record.load();
    expect(invocations).toMatchObject([{ phase: 'settled', status: 'succeeded', result: { paid: true } }]);
  });

  it('leaves neither the call nor the event behind where the run is held by another', async () => {
    const record = await newRun();
    const id = await proposed(record, 0);
    await database.connection.execute(
      sql`update runs set fencing_token = fencing_token + 1 where id = ${record.run}`,
    );
    await expect(settle(record, id)).rejects.toThrow('another worker');
    await expect(record.finish({ status: 'succeeded', output: null, error: null })).rejects.toThrow(
      'another worker',
    );
    expect(await chainOfRun(record.run)).toHaveLength(1);
    const { rows } = (await database.connection.execute(
      sql`select phase from invocations where id = ${id}`,
    )) as unknown as { rows: unknown[] };
    expect(rows).toEqual([{ phase: 'proposed' }]);
  });
});

describe('the pieces of an event’s text', () => {
  it('are the text that is hashed, whatever the event holds', () => {
    const run = newRunId();
    const event = {
      id: 'x',
      kind: 'tool.executed',
      confirmation: null,
      run,
      actor: { type: 'key', id: '"', name: '\\' },
      data: HOSTILE,
    } as const;
    const { beforeTime, beforePrev, beforeSeq, afterSeq } = canonicalEventParts({
      ...event,
      data: { ...HOSTILE },
    });
    const [at, requestPrev, requestSeq] = ['2026-11-30T10:00:00.000Z', 'ab12', 7];
    expect(`${beforeTime}${at}${beforePrev}${requestPrev}${beforeSeq}${requestSeq}${afterSeq}`).toBe(
      canonicalEventText({ ...event, data: { ...HOSTILE }, at, requestPrev, requestSeq }),
    );
  });
});
