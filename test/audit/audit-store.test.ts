import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SYSTEM_ACTOR } from '../../src/audit/audit-event.ts';
import { canonicalEventText, sha256Hex } from '../../src/audit/event-hash.ts';
import { appendAuditEvents, createAuditRecorder } from '../../src/db/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { newConfirmationId, newRunId } from '../../src/ids.ts';
import { DATABASES } from '../support/databases.ts';

const LI_WEI = { type: 'person', id: 'li.wei', name: '李伟' } as const;

describe.each(DATABASES)('the audit store on $name', ({ open }) => {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });
  afterAll(() => database.close());

  const chain = (name: string) =>
    database.connection
      .select()
      .from(auditEvents)
      .where(sql`chain = ${name}`)
      .orderBy(auditEvents.requestSeq);

  it('links the events of one request, and stores the text that was hashed', async () => {
    const confirmation = newConfirmationId();
    const run = newRunId();
    const requested = {
      kind: 'confirmation.requested',
      confirmation,
      run,
      actor: { type: 'agent', id: 'procurement', name: 'procurement' },
      data: { argsDigest: 'sha256:ab', numbers: [1, 0.1, 1e21, -0], nested: { 键: null } },
    } as const;
    await database.transaction((connection) =>
      appendAuditEvents(connection, [
        { ...requested, data: { ...requested.data, numbers: [...requested.data.numbers] } },
        { kind: 'vote.cast', confirmation, run, actor: LI_WEI, data: { verdict: 'approve' } },
      ]),
    );
    await database.transaction((connection) =>
      appendAuditEvents(connection, [
        {
          kind: 'confirmation.decided',
          confirmation,
          run,
          actor: LI_WEI,
          data: { status: 'approved' },
        },
      ]),
    );
    const rows = await chain(`confirmation:${confirmation}`);
    expect(rows.map((row) => [row.requestSeq, row.kind])).toEqual([
      [1, 'confirmation.requested'],
      [2, 'vote.cast'],
      [3, 'confirmation.decided'],
    ]);
    let requestPrev = '';
    for (const row of rows) {
      expect(row.requestPrev).toBe(requestPrev);
      expect(row.requestHash).toBe(sha256Hex(row.canonical));
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
      requestPrev = row.requestHash;
    }
    expect(rows.map((row) => row.seq)).toEqual([null, null, null]);
  });

  it('puts an event of a run, and one of neither, on chains of their own', async () => {
    const run = newRunId();
    const recorder = createAuditRecorder(database);
    const event = { confirmation: null, actor: SYSTEM_ACTOR, data: {} };
    await recorder.record({ ...event, kind: 'run.started', run });
    await recorder.record({ ...event, kind: 'read_only.changed', run: null });
    expect(await chain(`run:${run}`)).toHaveLength(1);
    expect(await chain('system')).toHaveLength(1);
  });

  it('wakes the sequencer when a single event was recorded', async () => {
    let wakes = 0;
    const unsubscribe = database.notifier.subscribe('audit', () => {
      wakes += 1;
    });
    const run = newRunId();
    await createAuditRecorder(database).record({
      kind: 'run.finished',
      confirmation: null,
      run,
      actor: SYSTEM_ACTOR,
      data: {},
    });
    await expect.poll(() => wakes).toBe(1);
    unsubscribe();
  });

  it('leaves nothing behind when the transaction around it fails', async () => {
    const run = newRunId();
    const append = database.transaction(async (connection) => {
      await appendAuditEvents(connection, [
        { kind: 'run.started', confirmation: null, run, actor: SYSTEM_ACTOR, data: {} },
      ]);
      throw new Error('the decision failed');
    });
    await expect(append).rejects.toThrow('the decision failed');
    expect(await chain(`run:${run}`)).toEqual([]);
    await createAuditRecorder(database).record({
      kind: 'run.started',
      confirmation: null,
      run,
      actor: SYSTEM_ACTOR,
      data: {},
    });
    expect((await chain(`run:${run}`)).map((row) => row.requestSeq)).toEqual([1]);
  });

  it('spells out what JSONB cannot hold, and stores objects as objects', async () => {
    const run = newRunId();
    await createAuditRecorder(database).record({
      kind: 'run.started',
      confirmation: null,
      run,
      actor: { type: 'agent', id: 'a\0b', name: 'half \ud83d' },
      data: { 'key\0': 'nul \0 and half \udc00, whole 😀', long: 'x'.repeat(20_000), bad: Number.NaN },
    });
    const [row] = await chain(`run:${run}`);
    expect(row?.actorId).toBe('a\\u0000b');
    expect(row?.actorName).toBe('half \\ud83d');
    expect(row?.data).toEqual({
      'key\\u0000': 'nul \\u0000 and half \\udc00, whole 😀',
      long: `${'x'.repeat(8_000)}… (12000 more characters)`,
      bad: 'NaN',
    });
    const types = await database.connection
      .select({ type: sql<string>`jsonb_typeof(data)` })
      .from(auditEvents)
      .groupBy(sql`jsonb_typeof(data)`);
    expect(types).toEqual([{ type: 'object' }]);
  });

  it('cuts an event that would be too large, and says so in the event', async () => {
    const run = newRunId();
    const items = Array.from({ length: 100_000 }, (_, index) => `item ${index}`);
    await createAuditRecorder(database).record({
      kind: 'run.started',
      confirmation: null,
      run,
      actor: SYSTEM_ACTOR,
      data: { items },
    });
    const [row] = await chain(`run:${run}`);
    expect(row?.canonical.length).toBeLessThan(250_000);
    expect(row?.canonical).toMatch(/"… \(\d+ more left out\)"/);
  });

  it('refuses a second decision on one request, whatever the code does', async () => {
    const confirmation = newConfirmationId();
    const decided = {
      kind: 'confirmation.decided',
      confirmation,
      run: null,
      actor: LI_WEI,
      data: { status: 'approved' },
    } as const;
    await createAuditRecorder(database).record(decided);
    const again = createAuditRecorder(database).record({ ...decided, data: { status: 'rejected' } });
    await expect(again).rejects.toMatchObject({
      cause: { message: expect.stringContaining('audit_events_one_decision') },
    });
    expect(await chain(`confirmation:${confirmation}`)).toHaveLength(1);
  });

  it('refuses to change, delete or truncate the record', async () => {
    const run = newRunId();
    await createAuditRecorder(database).record({
      kind: 'run.started',
      confirmation: null,
      run,
      actor: SYSTEM_ACTOR,
      data: {},
    });
    const appendOnly = { cause: { message: expect.stringContaining('append-only') } };
    for (const statement of [
      sql`update audit_events set actor_name = 'Mallory' where run_id = ${run}`,
      sql`update audit_events set seq = 1, prev_hash = '', hash = '', insert_order = null, kind = 'x' where run_id = ${run}`,
      sql`delete from audit_events where run_id = ${run}`,
      sql`truncate audit_events`,
    ]) {
      await expect(database.connection.execute(statement)).rejects.toMatchObject(appendOnly);
    }
  });

  it('refuses an id that is not one in lower case, which the hash could not be compared with', async () => {
    const run = newRunId().toUpperCase();
    const append = createAuditRecorder(database).record({
      kind: 'run.started',
      confirmation: null,
      run,
      actor: SYSTEM_ACTOR,
      data: {},
    });
    await expect(append).rejects.toThrow(/not an id in lower case/);
  });
});
