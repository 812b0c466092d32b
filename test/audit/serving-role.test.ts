import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { auditOwnershipWarning, checkAuditOwnership } from '../../src/db/audit-ownership.ts';
import { createAuditReader } from '../../src/db/audit-reader.ts';
import { AuditSequencer } from '../../src/db/audit-sequencer.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate, pendingMigrations } from '../../src/db/migrate.ts';
import { grantServingRole } from '../../src/db/serving-role.ts';
import { newPostgresDatabase, openEmbedded } from '../support/databases.ts';
import { approvePayment, requestPayment, writeSampleRecord } from './sample-record.ts';

describe('a serving role that does not own the record (I21)', () => {
  const role = `serving "${randomUUID().slice(0, 8)}`;
  let owner: Database;
  let serving: Database;

  beforeAll(async () => {
    const url = await newPostgresDatabase();
    owner = await connectPostgres({ url });
    await migrate(owner);
    await owner.connection.execute(sql`create role ${sql.identifier(role)} login password 'serving'`);
    await grantServingRole(owner, role);
    await grantServingRole(owner, role);
    const servingUrl = new URL(url);
    servingUrl.username = encodeURIComponent(role);
    servingUrl.password = 'serving';
    serving = await connectPostgres({ url: servingUrl.href });
  });
  afterAll(async () => {
    await serving.close();
    await owner.connection.execute(sql`drop owned by ${sql.identifier(role)}`);
    await owner.connection.execute(sql`drop role ${sql.identifier(role)}`);
    await owner.close();
  });

  it('can request, decide, append, sequence, list and verify', async () => {
    expect(await pendingMigrations(serving)).toEqual([]);
    await writeSampleRecord(serving, 3);
    await approvePayment(serving, await requestPayment(serving));
    const sequencer = new AuditSequencer({
      database: serving,
      clock: systemClock,
      onError: (error) => {
        throw error;
      },
    });
    expect(await sequencer.sequence()).toBeGreaterThan(0);
    expect((await createAuditReader(serving).list({})).items.length).toBeGreaterThan(0);
    expect(await createAuditReader(serving).verify()).toMatchObject({ ok: true });
  });

  it.each([
    ['update', sql`update audit_events set actor_name = 'Mallory'`],
    ['update to the same value', sql`update audit_events set canonical = canonical`],
    ['delete', sql`delete from audit_events`],
    ['truncate', sql`truncate audit_events`],
    ['switch the triggers off', sql`alter table audit_events disable trigger all`],
    ['drop a trigger', sql`drop trigger audit_events_guard on audit_events`],
    ['replace the guard', sql`drop function audit_events_guard() cascade`],
    ['drop the table', sql`drop table audit_events`],
    ['play a replica', sql`set session_replication_role = replica`],
    ['delete a chain', sql`delete from audit_chains`],
    ['delete the head', sql`delete from audit_head`],
    ['forget a migration', sql`delete from migrations`],
  ])('cannot %s', async (_what, statement) => {
    // 42501: insufficient privilege (PostgreSQL, appendix A). It is the privilege that refuses, not a trigger.
    await expect(serving.connection.execute(statement)).rejects.toMatchObject({ cause: { code: '42501' } });
  });

  it('cannot number an event a second time: there the trigger refuses', async () => {
    const again = serving.connection.execute(sql`update audit_events set seq = seq + 1000 where seq = 1`);
    await expect(again).rejects.toMatchObject({
      cause: { message: expect.stringContaining('append-only') },
    });
  });

  it('is reported as right, and the owner as weaker', async () => {
    const right = await checkAuditOwnership(serving);
    expect(right).toEqual({
      role,
      embedded: false,
      superuser: false,
      owns: false,
      canUpdate: false,
      canDelete: false,
      canTruncate: false,
    });
    expect(auditOwnershipWarning(right, 'en-US')).toBeNull();

    const weaker = await checkAuditOwnership(owner);
    expect(weaker).toMatchObject({ superuser: true, owns: true, canUpdate: true, canDelete: true });
    expect(auditOwnershipWarning(weaker, 'en-US')).toMatch(/owns audit_events.*migrationDatabase/);
    expect(auditOwnershipWarning(weaker, 'zh-CN')).toMatch(/migrationDatabase/);
  });

  it('is reported where it was granted too much', async () => {
    await owner.connection.execute(sql`grant update (actor_name) on audit_events to ${sql.identifier(role)}`);
    const tooMuch = await checkAuditOwnership(serving);
    expect(tooMuch).toMatchObject({ owns: false, canUpdate: true, canDelete: false });
    expect(auditOwnershipWarning(tooMuch, 'en-US')).toMatch(/revoke those privileges/);
    await grantServingRole(owner, role);
    expect(await checkAuditOwnership(serving)).toMatchObject({ canUpdate: false });
  });
});

describe('the embedded database', () => {
  it('says that tampering is found, not prevented', async () => {
    const database = await openEmbedded();
    const ownership = await checkAuditOwnership(database);
    expect(auditOwnershipWarning(ownership, 'en-US')).toMatch(/found .* not prevented/);
    await database.close();
  });
});
