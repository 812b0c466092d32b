import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Actor } from '../../src/confirmation/confirmation-service.ts';
import { createAuditReader } from '../../src/db/audit-reader.ts';
import { AuditSequencer } from '../../src/db/audit-sequencer.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, type ConfirmationId } from '../../src/ids.ts';
import type { Verdict } from '../../src/verdict.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

const ARGS = {
  amount: '68000.00',
  currency: 'CNY',
  payee: 'Acme',
  rate: 0.1,
  note: null,
  lines: [1e21, 1.5e-7],
};
const AGENT: Actor = { type: 'key', id: 'procurement', agent: agentId('procurement') };

describe.each(DATABASES)('the record of real requests on $name', ({ open }) => {
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const vote = (id: ConfirmationId, verdict: Verdict, reason: string | null) =>
    core.service.decide({
      id,
      person: person('li.wei'),
      verdict,
      reason,
      argsDigest: null,
      surface: { kind: 'api' },
    });
  const verify = async () => {
    await new AuditSequencer({
      database,
      clock: systemClock,
      onError: (error) => {
        throw error;
      },
    }).sequence();
    return createAuditReader(database).verify();
  };

  it('agrees with their rows, whichever way they end', async () => {
    const executed = await core.pending(ARGS);
    await vote(executed, 'approve', 'half \ud83d, and long '.repeat(1_000));
    await core.service.claim({ id: executed, actor: AGENT, args: ARGS });
    await core.service.recordOutcome({ id: executed, actor: AGENT, status: 'unknown', detail: null });

    await vote(await core.pending(ARGS), 'reject', '金额不对\n"quoted"');
    await core.service.cancel({ id: await core.pending(ARGS), actor: AGENT, reason: null });
    const revoked = await core.pending(ARGS);
    await vote(revoked, 'approve', null);
    await core.service.cancel({ id: revoked, actor: AGENT, reason: 'no longer wanted' });

    core.policy = { ...POLICY, decideWithinMs: 1 };
    const expired = await core.pending(ARGS);
    await expect.poll(async () => (await vote(expired, 'approve', null)).kind).toBe('expired');
    core.policy = { ...POLICY, quorum: 5 };
    expect(await core.ask(ARGS)).toMatchObject({ kind: 'denied', code: 'undeliverable' });
    core.policy = POLICY;
    await core.pending(ARGS);

    expect(await verify()).toMatchObject({ ok: true });
    const { items } = await createAuditReader(database).list({ kind: 'confirmation.decided' });
    expect(items.map(({ data }) => data.status).sort()).toEqual([
      'approved',
      'approved',
      'cancelled',
      'expired',
      'rejected',
      'undeliverable',
    ]);
  });

  it('no longer agrees once somebody lends a used grant again', async () => {
    const id = await core.pending(ARGS);
    await vote(id, 'approve', null);
    await core.service.claim({ id, actor: AGENT, args: ARGS });
    expect(await verify()).toMatchObject({ ok: true });

    await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
    await database.connection.execute(sql`
      update confirmations set execution_status = 'unclaimed', claimed_at = null, send_by = null where id = ${id}`);
    await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
    expect(await verify()).toMatchObject({
      ok: false,
      firstBad: { confirmation: id, reason: expect.stringContaining('was claimed, but its row says') },
    });
  });
});
