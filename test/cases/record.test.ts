import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rowsOf } from '../../src/db/rows-of.ts';
import { PreToolUseHook } from '../../src/hook/hook.ts';
import type { HookContext } from '../../src/hook/hook-context.ts';
import { agentId, personId } from '../../src/ids.ts';
import { agent } from '../agent/sample-config.ts';
import { type Seen, sampleHooks } from '../agent/sample-hooks.ts';
import { type Call, type CaseRig, EXECUTORS, onlyRequest, PAYMENT, pay, startRig, vote } from './case-rig.ts';

/** Fails for one tool, as a hook of somebody else's might. */
class Broken extends PreToolUseHook {
  readonly name = 'broken';
  readonly onError = 'deny';
  override shouldTrigger({ toolName }: HookContext) {
    return toolName === 'oa__weather';
  }
  async execute(): Promise<never> {
    throw new Error('out of order');
  }
}

interface End {
  readonly end: string;
  readonly call: Call;
  readonly act?: 'approve' | 'reject' | 'withdraw';
  readonly evaluation?: boolean;
  readonly status: string;
  readonly code: string | null;
  /** Between `run.started` and `run.finished`, in order. */
  readonly events: readonly string[];
  /** How often the hooks of `PostToolUse` saw a result. */
  readonly shown: number;
}

const asked = ['confirmation.requested'];
const decided = [...asked, 'vote.cast', 'confirmation.decided'];
const ran = [...decided, 'grant.claimed', 'outcome.recorded', 'tool.executed'];

const ENDS: readonly End[] = [
  {
    end: 'allowed and done',
    call: { tool: 'oa__pay_freely', args: PAYMENT },
    status: 'succeeded',
    code: null,
    events: ['tool.executed'],
    shown: 1,
  },
  {
    end: 'allowed and unknown',
    call: { tool: 'oa__pay_freely_broken', args: PAYMENT },
    status: 'unknown',
    code: 'unknown',
    events: ['tool.executed'],
    shown: 0,
  },
  {
    end: 'denied by a hook',
    call: { tool: 'oa__log' },
    status: 'blocked',
    code: 'denied_by_hook',
    events: ['call.denied'],
    shown: 0,
  },
  {
    end: 'stopped by a hook that failed',
    call: { tool: 'oa__weather' },
    status: 'blocked',
    code: 'denied_by_hook',
    events: ['hook.failed', 'call.denied'],
    shown: 0,
  },
  {
    end: 'refused for its arguments',
    call: { tool: 'oa__pay', args: { payee: 'x' } },
    status: 'blocked',
    code: 'invalid_arguments',
    events: ['call.denied'],
    shown: 0,
  },
  {
    end: 'approved and done',
    call: pay(),
    act: 'approve',
    status: 'succeeded',
    code: null,
    events: ran,
    shown: 1,
  },
  {
    end: 'approved and refused by the tool',
    call: { tool: 'oa__pay_refused', args: PAYMENT },
    act: 'approve',
    status: 'failed',
    code: 'tool_failed',
    events: ran,
    shown: 1,
  },
  {
    end: 'approved and unknown',
    call: { tool: 'oa__pay_broken', args: PAYMENT },
    act: 'approve',
    status: 'unknown',
    code: 'unknown',
    events: ran,
    shown: 0,
  },
  {
    end: 'rejected',
    call: pay(),
    act: 'reject',
    status: 'blocked',
    code: 'rejected',
    events: [...decided, 'call.denied'],
    shown: 0,
  },
  {
    end: 'expired',
    call: { tool: 'oa__pay_hasty', args: PAYMENT },
    status: 'blocked',
    code: 'expired',
    events: [...asked, 'confirmation.decided', 'call.denied'],
    shown: 0,
  },
  {
    end: 'withdrawn',
    call: pay(),
    act: 'withdraw',
    status: 'blocked',
    code: 'cancelled',
    events: [...asked, 'confirmation.decided', 'call.denied'],
    shown: 0,
  },
  {
    end: 'undeliverable',
    call: { tool: 'oa__pay_nobody', args: PAYMENT },
    status: 'blocked',
    code: 'undeliverable',
    events: [...asked, 'confirmation.decided', 'call.denied'],
    shown: 0,
  },
  {
    end: 'denied because no rule could be chosen',
    call: { tool: 'oa__pay_slowly', args: PAYMENT },
    status: 'blocked',
    code: 'policy_error',
    events: ['call.denied'],
    shown: 0,
  },
  {
    end: 'stubbed',
    call: pay(),
    evaluation: true,
    status: 'stubbed',
    code: null,
    events: ['tool.stubbed'],
    shown: 0,
  },
];

describe('the record', () => {
  const seen: Seen = { settled: [], results: [], sessions: [] };
  let rig: CaseRig;

  beforeAll(async () => {
    const hooks = ['deny-log', 'broken', 'redact', 'note'].map((name) => ({ name, options: {} }));
    rig = await startRig({
      agents: [agent('buyer', { hooks })],
      hookKinds: [
        ...sampleHooks(seen),
        { name: 'broken', options: z.strictObject({}), create: () => new Broken() },
      ],
      change: (config) => {
        const [rule] = config.policies;
        if (!rule) throw new Error('the sample has no policy');
        return {
          ...config,
          policies: [
            ...config.policies,
            {
              ...rule,
              id: 'asks for what is not there',
              tools: ['oa__pay_slowly'],
              when: 'args.currency == "CNY"',
            },
            {
              ...rule,
              id: 'both',
              tools: ['oa__huge'],
              approvers: ['li.wei', 'zhao.min'].map(personId),
              decideWithinMs: 60_000,
            },
          ],
        };
      },
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    seen.settled.length = 0;
    seen.results.length = 0;
  });

  describe.each(EXECUTORS)('of a call through the $executor executor', ({ executor, start }) => {
    it.each(ENDS)(
      '065, 067: that was $end holds each event once, and each observer saw it once',
      async (end) => {
        const { id } = await start(rig.engine, [end.call], { evaluation: end.evaluation ?? false });
        if (end.act) {
          const request = await onlyRequest(rig.engine, id);
          if (end.act === 'withdraw')
            await rig.engine.confirmations.cancel({
              id: request.id,
              actor: { type: 'system' },
              reason: null,
            });
          else await vote(rig.engine, request, end.act);
        }
        if (executor === 'DAG' && end.status === 'unknown') {
          // A plan holds here, until a person has looked or gives up.
          await rig.engine.engine.runs.wait({
            id,
            timeoutMs: 10_000,
            untilWaiting: true,
            signal: new AbortController().signal,
          });
          while (seen.settled.length === 0) await rig.engine.engine.runs.get(id);
          await rig.engine.engine.runs.cancel(id);
        }
        const run = await rig.engine.finished(id);
        const recorded = await rig.engine.recorded(id);
        expect(recorded.map(({ kind }) => kind)).toEqual(['run.started', ...end.events, 'run.finished']);
        const [invocation] = run.invocations;
        const last = recorded.at(-2);
        expect(last).toMatchObject({
          confirmation: invocation?.confirmation,
          data: {
            invocation: invocation?.id,
            tool: end.call.tool,
            status: end.status,
            code: end.code,
            evaluation: end.evaluation ?? false,
          },
        });
        expect(seen.settled).toMatchObject([
          {
            runId: id,
            settlement: { status: end.status, code: end.code, confirmationId: invocation?.confirmation },
          },
        ]);
        expect(seen.results.length).toBe(end.shown);
        const outcome = recorded.find(({ kind }) => kind === 'outcome.recorded');
        if (outcome) expect(outcome.data).toMatchObject({ status: end.status });
      },
    );
  });

  it.each(EXECUTORS)(
    '058, 064: of somebody who tries to approve their own request says so, and the request stays open ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [{ tool: 'oa__huge' }]);
      const request = await onlyRequest(rig.engine, id);
      expect(await vote(rig.engine, request, 'approve', { person: 'zhao.min' })).toMatchObject({
        code: 'self_approval',
      });
      expect((await rig.engine.recorded(id)).at(-1)).toMatchObject({
        kind: 'vote.refused',
        confirmation: request.id,
        data: { person: 'zhao.min', verdict: 'approve', code: 'self_approval' },
      });
      expect(request).toMatchObject({ agent: 'buyer', runId: id, requester: { id: 'zhao.min' } });
      expect((await rig.engine.confirmations.get(request.id))?.status).toBe('pending');
      expect(await vote(rig.engine, request, 'reject', { person: 'zhao.min' })).toMatchObject({
        kind: 'recorded',
      });
      await rig.engine.finished(id);
    },
  );

  it.each(['approve', 'reject'] as const)(
    '068: says from the database alone who decided (%s), when, where, and about what',
    async (verdict) => {
      const { id } = (await EXECUTORS[0]?.start(rig.engine, [pay()])) ?? { id: null };
      if (id === null) throw new Error('no run');
      const request = await onlyRequest(rig.engine, id);
      await vote(rig.engine, request, verdict, { reason: 'seen and weighed' });
      await rig.engine.finished(id);
      const [row] = await rowsOf<Record<string, unknown>>(
        rig.database.connection,
        sql`
        select event.actor_id, event.actor_name, event.at, event.data ->> 'channel' as channel,
               event.data ->> 'reason' as reason, confirmation.args, confirmation.policy
        from audit_events event join confirmations confirmation on confirmation.id = event.confirmation_id
        where event.kind = 'vote.cast' and event.confirmation_id = ${request.id}
          and event.data ->> 'argsDigest' = confirmation.args_digest`,
      );
      expect(row).toMatchObject({
        actor_id: 'li.wei',
        actor_name: '李伟',
        channel: 'api',
        reason: 'seen and weighed',
        args: PAYMENT,
      });
    },
  );

  it('a run that cannot be recorded does not run', async () => {
    await rig.database.connection.execute(sql`
      create function refuse_start() returns trigger language plpgsql as $$
      begin if new.kind = 'run.started' then raise exception 'the record is full'; end if; return new; end $$`);
    await rig.database.connection.execute(
      sql`create trigger refuse_start before insert on audit_events for each row execute function refuse_start()`,
    );
    const started = rig.engine.start({
      agent: agentId('buyer'),
      plan: [
        { kind: 'tool', id: 'a', tool: 'oa__pay_freely', args: PAYMENT, dependsOn: [], onRejected: 'fail' },
      ],
    });
    await expect(started).rejects.toThrow();
    await rig.database.connection.execute(sql`drop trigger refuse_start on audit_events`);
    const left = await rowsOf<{ count: number }>(
      rig.database.connection,
      sql`select count(*)::int as count from runs where finished_at is null`,
    );
    expect(left).toEqual([{ count: 0 }]);
    expect(rig.payments.calls).toEqual([]);
  });

  it('the end of a call that cannot be recorded at first is recorded once in the end', async () => {
    await rig.database.connection.execute(sql`create sequence failures_left start 1`);
    await rig.database.connection.execute(sql`
      create function refuse_twice() returns trigger language plpgsql as $$
      begin
        if new.kind = 'tool.executed' and nextval('failures_left') <= 2 then raise exception 'the record is full'; end if;
        return new;
      end $$`);
    await rig.database.connection.execute(
      sql`create trigger refuse_twice before insert on audit_events for each row execute function refuse_twice()`,
    );
    const { id } = (await EXECUTORS[1]?.start(rig.engine, [{ tool: 'oa__pay_freely', args: PAYMENT }])) ?? {
      id: null,
    };
    if (id === null) throw new Error('no run');
    expect((await rig.engine.finished(id)).status).toBe('succeeded');
    await rig.database.connection.execute(sql`drop trigger refuse_twice on audit_events`);
    expect((await rig.engine.recorded(id)).map(({ kind }) => kind)).toEqual([
      'run.started',
      'tool.executed',
      'run.finished',
    ]);
    expect(rig.payments.calls.length).toBe(1);
  });
});
