import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executionStatusOf } from '../../src/confirmation/confirmation-request.ts';
import type { Database } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId, type ConfirmationId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const KEY = { type: 'key', id: 'procurement', agent: agentId('procurement') } as const;
const PERSONS = ['li.wei', 'wang.fang', 'chen.jie', 'zhao.min', 'nobody'] as const;

type Step =
  | { readonly do: 'vote'; readonly by: (typeof PERSONS)[number]; readonly verdict: 'approve' | 'reject' }
  | { readonly do: 'cancel' | 'expire' | 'claim' | 'claim-other' }
  | { readonly do: 'outcome' | 'settle'; readonly status: 'succeeded' | 'failed' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('vote' as const),
      by: fc.constantFrom(...PERSONS),
      verdict: fc.constantFrom('approve', 'approve', 'approve', 'reject'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('cancel', 'claim', 'claim', 'claim-other', 'expire') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('outcome', 'settle'),
      status: fc.constantFrom('succeeded', 'failed'),
    }),
  },
);

/** The whole life of a request in a few lines: what the code has to agree with, step by step. */
class Model {
  status = 'pending';
  execution = 'none';
  readonly approved = new Set<string>();
  readonly quorum: number;

  constructor(quorum: number) {
    this.quorum = quorum;
  }

  apply(taken: Step): void {
    const pending = this.status === 'pending';
    switch (taken.do) {
      case 'vote': {
        const mayReject = taken.by !== 'nobody';
        const mayApprove = mayReject && taken.by !== 'zhao.min';
        if (!pending || !(taken.verdict === 'reject' ? mayReject : mayApprove)) return;
        if (taken.verdict === 'reject') this.status = 'rejected';
        else this.approved.add(taken.by);
        if (this.approved.size >= this.quorum && taken.verdict === 'approve') {
          this.status = 'approved';
          this.execution = 'unclaimed';
        }
        return;
      }
      case 'cancel':
        if (pending) this.status = 'cancelled';
        else if (this.execution === 'unclaimed') this.execution = 'revoked';
        return;
      case 'expire':
        if (pending) this.status = 'expired';
        return;
      case 'claim':
        if (this.execution === 'unclaimed') this.execution = 'claimed';
        return;
      case 'outcome':
        if (this.execution === 'claimed') this.execution = taken.status;
        return;
      case 'claim-other':
      case 'settle':
        return;
    }
  }
}

describe.each(DATABASES)('the life of a request on $name', ({ open }) => {
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

  async function perform(id: ConfirmationId, taken: Step): Promise<void> {
    const { service } = core;
    switch (taken.do) {
      case 'vote':
        await service.decide({
          id,
          person: person(taken.by),
          verdict: taken.verdict,
          reason: null,
          argsDigest: null,
          surface: { kind: 'api' },
        });
        return;
      case 'cancel':
        await service.cancel({ id, actor: KEY, reason: null });
        return;
      case 'expire':
        await passDeadline(id);
        await core.sweeper.sweep();
        return;
      case 'claim':
        await service.claim({ id, actor: KEY, args: ARGS });
        return;
      case 'claim-other':
        await service.claim({ id, actor: KEY, args: { ...ARGS, payee: 'Mallory' } });
        return;
      case 'outcome':
        await service.recordOutcome({ id, actor: KEY, status: taken.status, detail: null });
        return;
      case 'settle':
        await service.settle({
          id,
          person: person('li.wei'),
          status: taken.status,
          detail: 'seen',
          surface: { kind: 'api' },
        });
        return;
    }
  }

  /** Only while it is pending: what is decided keeps its times. */
  async function passDeadline(id: ConfirmationId): Promise<void> {
    await database.connection.execute(sql`alter table confirmations disable trigger confirmations_guard`);
    await database.connection.execute(
      sql`update confirmations set created_at = created_at - interval '1 hour', decide_by = decide_by - interval '1 hour'
          where id = ${id} and status = 'pending'`,
    );
    await database.connection.execute(sql`alter table confirmations enable trigger confirmations_guard`);
  }

  it('follows the same path as its model, and the record says the same', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, quorum) => {
          core.policy = { ...POLICY, quorum };
          const id = await core.pending(ARGS);
          const model = new Model(quorum);
          for (const taken of steps) {
            await perform(id, taken);
            model.apply(taken);
            const request = await core.service.get(id);
            expect(request?.status).toBe(model.status);
            expect(request && executionStatusOf(request)).toBe(model.execution);
          }
          const closings = await rowsOf<{ status: string }>(
            database.connection,
            sql`select data ->> 'status' as status from audit_events
              where confirmation_id = ${id} and kind = 'confirmation.decided'`,
          );
          expect(closings.map(({ status }) => status)).toEqual(
            model.status === 'pending' ? [] : [model.status],
          );
        },
      ),
      { numRuns: 60 },
    );
  }, 120_000);
});
