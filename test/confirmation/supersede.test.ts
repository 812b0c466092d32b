import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfirmationRequest } from '../../src/confirmation/confirmation-request.ts';
import type { Actor } from '../../src/confirmation/confirmation-service.ts';
import type { Database } from '../../src/db/database.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import { agentId, type ConfirmationId, newRunId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { type CallChanges, type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { race } from '../support/races.ts';

const KEY: Actor = { type: 'key', id: 'procurement', agent: agentId('procurement') };
const args = (amount: string): JsonObject => ({ amount, currency: 'CNY', payee: 'Acme' });

describe.each(DATABASES)(
  'a call that is asked about again with other arguments, on $name',
  ({ name, open }) => {
    let database: Database;
    let core: Core;
    let calls = 0;

    beforeAll(async () => {
      database = await open();
      core = startCore(database);
    });
    beforeEach(() => {
      core.policy = POLICY;
      core.match = null;
      calls += 1;
    });
    afterAll(async () => {
      core.stop();
      await database.close();
    });

    /** One call of an outside agent; each test has one of its own. */
    const sameCall = (
      changes: CallChanges & { readonly apiKeyId?: string; readonly callId?: string | null } = {},
    ): CallChanges => {
      const { apiKeyId = 'procurement', callId = `call-${calls}`, ...rest } = changes;
      return {
        sessionId: 'chat-1',
        ...rest,
        metadata: {
          callId,
          ask: {
            apiKeyId,
            idempotencyKey: null,
            bodyDigest: 'sha256:00',
            requesterNamedByAgent: false,
            summary: null,
            metadata: {},
          },
          ...rest.metadata,
        },
      };
    };
    const get = async (id: ConfirmationId): Promise<ConfirmationRequest> => {
      const request = await core.service.get(id);
      if (!request) throw new Error(`no ${id}`);
      return request;
    };
    const approve = (id: ConfirmationId) =>
      core.service.decide({
        id,
        person: person('li.wei'),
        verdict: 'approve',
        reason: null,
        argsDigest: null,
        surface: { kind: 'api' },
      });
    const claim = (id: ConfirmationId, amount: string) =>
      core.service.claim({ id, args: args(amount), actor: KEY });

    it('closes the pending request in favour of the new one, with its cards, on the record', async () => {
      const older = await core.pending(args('1'), sameCall());
      const newer = await core.pending(args('2'), sameCall());
      expect(await get(older)).toMatchObject({
        status: 'cancelled',
        supersededBy: newer,
        decision: { code: 'superseded', by: null },
      });
      expect(await get(newer)).toMatchObject({ status: 'pending', supersedes: older, votes: [] });
      expect(await approve(older)).toMatchObject({ kind: 'already-decided' });
      const [card] = await database.connection
        .select({ wanted: deliveries.wantedVersion })
        .from(deliveries)
        .where(eq(deliveries.confirmationId, older));
      expect(card?.wanted).toBe((await get(older)).version);
      const events = await database.connection
        .select()
        .from(auditEvents)
        .where(eq(auditEvents.confirmationId, older));
      expect(events.find(({ kind }) => kind === 'confirmation.decided')).toMatchObject({
        kind: 'confirmation.decided',
        actorType: 'key',
        actorId: 'procurement',
        data: { status: 'cancelled', code: 'superseded', supersededBy: newer },
      });
      expect(await approve(newer)).toMatchObject({ kind: 'recorded', closed: true });
      expect(await claim(newer, '2')).toMatchObject({ kind: 'claimed' });
    });

    it('counts as many times as it happens: only the newest is open', async () => {
      const ids: ConfirmationId[] = [];
      for (const amount of ['1', '2', '1']) ids.push(await core.pending(args(amount), sameCall()));
      const states = await Promise.all(ids.map(async (id) => (await get(id)).status));
      expect(states).toEqual(['cancelled', 'cancelled', 'pending']);
    });

    it.each([
      ['the same arguments', args('1'), {}],
      ['no id of the call', args('2'), { callId: null }],
      ['no session', args('2'), { sessionId: null }],
      ['another session', args('2'), { sessionId: 'chat-2' }],
      ['another key', args('2'), { apiKeyId: 'other' }],
      ['another agent', args('2'), { agentId: agentId('treasury') }],
      ['another tool', args('2'), { toolName: 'bank__refund' }],
      ['a call of one of our runs', args('2'), { runId: newRunId() }],
    ] as const)('stands alone with %s', async (_, again, changes) => {
      const older = await core.pending(args('1'), sameCall());
      const newer = await core.pending(again, sameCall(changes));
      expect(await get(older)).toMatchObject({ status: 'pending', supersededBy: null });
      expect(await get(newer)).toMatchObject({ status: 'pending', supersedes: null });
    });

    it('revokes an approval that nobody used', async () => {
      const older = await core.pending(args('1'), sameCall());
      await approve(older);
      const newer = await core.pending(args('2'), sameCall());
      expect(await get(older)).toMatchObject({
        status: 'approved',
        supersededBy: newer,
        execution: { status: 'revoked', detail: 'superseded', by: null },
      });
      expect(await claim(older, '1')).toMatchObject({ kind: 'refused', code: 'revoked' });
    });

    it('stands alone beside a call that may have run already', async () => {
      const older = await core.pending(args('1'), sameCall());
      await approve(older);
      await claim(older, '1');
      const newer = await core.pending(args('2'), sameCall());
      expect(await get(older)).toMatchObject({ supersededBy: null, execution: { status: 'claimed' } });
      expect(await get(newer)).toMatchObject({ status: 'pending', supersedes: null });
    });

    it('closes the older one also where nobody has to confirm the newer', async () => {
      const older = await core.pending(args('1'), sameCall());
      core.match = () => ({ kind: 'none' });
      expect(await core.ask(args('2'), sameCall())).toEqual({ kind: 'not-needed' });
      expect(await get(older)).toMatchObject({ status: 'cancelled', decision: { code: 'superseded' } });
    });

    it('leaves the older one as it is where the newer question is refused', async () => {
      const older = await core.pending(args('1'), sameCall());
      core.match = () => ({ kind: 'failed', message: 'no', argument: null, policyId: 'x' });
      expect(await core.ask(args('2'), sameCall())).toMatchObject({ kind: 'denied', code: 'policy_error' });
      expect((await get(older)).status).toBe('pending');
    });

    it('that arrives with an approval leaves one of the two sets of arguments at most', async () => {
      const rounds = name === 'PostgreSQL' ? 12 : 2;
      const ends = await race(rounds, async () => {
        calls += 1;
        const changes = sameCall();
        const older = await core.pending(args('1'), changes);
        return {
          one: async () => {
            await approve(older);
            return { older, claimed: (await claim(older, '1')).kind };
          },
          other: async () => core.pending(args('2'), changes),
        };
      });
      for (const [{ older, claimed }, newer] of ends) {
        const { supersedes } = await get(newer);
        // Whoever claimed before the newer question came was there first; otherwise its arguments can never run.
        expect(supersedes).toBe(claimed === 'claimed' ? null : older);
        const then = await get(older);
        if (claimed !== 'claimed') expect(then.supersededBy).toBe(newer);
      }
    });

    it('twenty times at once leaves one open', async () => {
      const changes = sameCall();
      const ids = await Promise.all(
        Array.from({ length: 20 }, (_, amount) => core.pending(args(String(amount)), changes)),
      );
      const open = (await Promise.all(ids.map(get))).filter(({ status }) => status === 'pending');
      expect(open).toHaveLength(1);
    });
  },
);
