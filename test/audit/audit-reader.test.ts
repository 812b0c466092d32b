import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit/audit-event.ts';
import { canonicalEventText, logHashOf, sha256Hex } from '../../src/audit/event-hash.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import { runAuditVerify } from '../../src/cli/audit-verify.ts';
import { systemClock } from '../../src/clock.ts';
import { createAuditReader } from '../../src/db/audit-reader.ts';
import { readAuditEvidence } from '../../src/db/audit-reader-evidence.ts';
import { AuditSequencer } from '../../src/db/audit-sequencer.ts';
import { createAuditRecorder } from '../../src/db/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import { newRunId } from '../../src/ids.ts';
import { DATABASES } from '../support/databases.ts';
import { approvePayment, event, LI_WEI, requestPayment, writeSampleRecord } from './sample-record.ts';

describe.each(DATABASES)('the audit reader on $name', ({ open }) => {
  let database: Database;
  let all: AuditEvent[];

  const sequence = () =>
    new AuditSequencer({
      database,
      clock: systemClock,
      onError: (error) => {
        throw error;
      },
    }).sequence();
  const exported = async (filter: Parameters<ReturnType<typeof createAuditReader>['export']>[0] = {}) => {
    const events: AuditEvent[] = [];
    for await (const found of createAuditReader(database).export(filter)) events.push(found);
    return events;
  };

  beforeAll(async () => {
    database = await open();
    await writeSampleRecord(database, 6);
    await createAuditRecorder(database).record(event('vote.refused', null, { person: 'wang.fang' }));
    await sequence();
    all = await exported();
  });
  afterAll(() => database.close());

  it('exports everything, oldest first, so that anybody can compute the hashes again', () => {
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    let prevHash = '';
    for (const { seq, hash, requestHash, at, ...rest } of all) {
      expect(requestHash).toBe(sha256Hex(canonicalEventText({ ...rest, at: at.toISOString() })));
      expect(hash).toBe(logHashOf({ requestHash, prevHash, seq }));
      expect(rest.prevHash).toBe(prevHash);
      prevHash = hash;
    }
  });

  it('pages through the log without a gap or a repeat', async () => {
    const reader = createAuditReader(database);
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await reader.list({ limit: 7, cursor });
      seen.push(...page.items.map(({ seq }) => seq));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(all.map(({ seq }) => seq));
  });

  it('filters by request, run, kind, person and time', async () => {
    const decided = all.find(({ kind }) => kind === 'confirmation.decided');
    const run = all.find((found) => found.run !== null)?.run ?? '';
    const middle = all[10]?.at ?? new Date();
    const matching = (matches: (found: AuditEvent) => boolean) => all.filter(matches);

    expect(await exported({ confirmation: decided?.confirmation ?? '' })).toEqual(
      matching(({ confirmation }) => confirmation === decided?.confirmation),
    );
    expect(await exported({ run })).toEqual(matching((found) => found.run === run));
    expect(await exported({ kind: 'vote.cast' })).toEqual(matching(({ kind }) => kind === 'vote.cast'));
    expect(await exported({ person: LI_WEI.id })).toEqual(matching(({ actor }) => actor.id === LI_WEI.id));
    expect((await exported({ person: 'wang.fang' })).map(({ kind }) => kind)).toEqual(['vote.refused']);
    expect(await exported({ from: middle })).toEqual(matching(({ at }) => at >= middle));
    expect(await exported({ to: middle })).toEqual(matching(({ at }) => at < middle));
    expect(await exported({ confirmation: 'not-an-id' })).toEqual([]);
    expect(await exported({ run: "'; drop table audit_events; --" })).toEqual([]);
  });

  it('refuses a cursor that no page gave', async () => {
    const list = createAuditReader(database).list({ cursor: 'abc' });
    await expect(list).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('does not show an event before it is sequenced', async () => {
    const run = newRunId();
    await createAuditRecorder(database).record({ ...event('run.started', null, {}), run });
    expect(await exported({ run })).toEqual([]);
    await sequence();
    expect(await exported({ run })).toHaveLength(1);
  });

  it('verifies the same however small the pages are, with events not sequenced yet', async () => {
    const request = await requestPayment(database);
    await approvePayment(database, request);
    const whole = await createAuditReader(database).verify();
    expect(whole).toMatchObject({ ok: true });
    for (const pageSize of [1, 2, 3, 5]) {
      expect(await verifyAudit(readAuditEvidence(database, pageSize))).toEqual(whole);
    }
    await sequence();
  });

  it('keeps key names that JavaScript treats as special', async () => {
    const data = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}');
    await createAuditRecorder(database).record(event('callback.refused', null, data));
    await sequence();
    expect(await createAuditReader(database).verify()).toMatchObject({ ok: true });
    expect(JSON.stringify((await exported({ kind: 'callback.refused' }))[0]?.data)).toContain('"__proto__"');
  });

  it('answers the command line with the head, or with the first bad row and exit code 1', async () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    expect(await runAuditVerify({ database, write })).toBe(0);
    expect(lines[0]).toMatch(/^The audit record is whole: \d+ events\.$/);
    expect(lines[1]).toMatch(/^Head: \d+ [0-9a-f]{64} /);

    await database.connection.execute(sql`alter table audit_events disable trigger all`);
    await database.connection.execute(sql`update audit_events set actor_name = 'Mallory' where seq = 5`);
    lines.length = 0;
    expect(await runAuditVerify({ database, write })).toBe(1);
    expect(lines.join('\n')).toMatch(/TAMPERED WITH.\nFirst bad row \(seq 5.*\): Event 5 was changed/);
    lines.length = 0;
    expect(await runAuditVerify({ database, write, locale: 'zh-CN' })).toBe(1);
    expect(lines[1]).toContain('第一处异常（seq 5');
  });
});
