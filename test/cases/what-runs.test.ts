import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Config } from '../../src/config/config.ts';
import { digestOf } from '../../src/confirmation/digest.ts';
import { PreToolUseHook } from '../../src/hook/hook.ts';
import type { HookContext } from '../../src/hook/hook-context.ts';
import type { PreToolUseResult } from '../../src/hook/hook-results.ts';
import type { JsonObject } from '../../src/json.ts';
import { agent, withTools } from '../agent/sample-config.ts';
import { BUYER, type CaseRig, EXECUTORS, onlyRequest, pay, startRig, vote } from './case-rig.ts';

/** Everything the next hook of the tests is told to do. */
interface Behaviour {
  rewrite: ((args: JsonObject) => unknown) | null;
  kept: JsonObject[];
}

const hooksOf = (behaviour: Behaviour) => {
  class Rewriter extends PreToolUseHook {
    readonly name = 'rewriter';
    readonly onError = 'deny';
    override readonly priority = 1_000_000_000;
    async execute({ toolArgs }: HookContext): Promise<PreToolUseResult> {
      behaviour.kept.push(toolArgs);
      if (behaviour.rewrite === null) return { allow: true };
      const modifiedArgs = behaviour.rewrite(toolArgs) as JsonObject;
      behaviour.kept.push(modifiedArgs);
      return { allow: true, modifiedArgs };
    }
  }
  class Silent extends PreToolUseHook {
    readonly name = 'silent';
    readonly onError = 'continue';
    override readonly priority = 2_000_000_000;
    async execute(): Promise<PreToolUseResult> {
      return { allow: true };
    }
  }
  return [Rewriter, Silent].map((Hook) => ({
    name: new Hook().name,
    options: z.strictObject({}),
    create: () => new Hook(),
  }));
};

describe('what was approved is what runs', () => {
  const behaviour: Behaviour = { rewrite: null, kept: [] };
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({
      agents: [agent('buyer', { hooks: ['rewriter', 'silent'].map((name) => ({ name, options: {} })) })],
      hookKinds: hooksOf(behaviour),
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    behaviour.rewrite = null;
    behaviour.kept.length = 0;
  });

  it.each(EXECUTORS)(
    '106, 110: a rewrite of however late a hook is what people see, and what is sent ($executor)',
    async ({ start }) => {
      behaviour.rewrite = (args) => ({ ...args, amount: '1000.00' });
      const { id } = await start(rig.engine, [pay('10.00')]);
      const request = await onlyRequest(rig.engine, id);
      expect(request.args).toEqual({ payee: 'Acme Ltd', amount: '1000.00' });
      await rig.engine.decide(request.id, 'approve');
      await rig.engine.finished(id);
      const [sent] = rig.payments.calls;
      expect(sent?.body).toEqual(request.args);
      expect(digestOf({ ...request, args: sent?.body as JsonObject })).toBe(request.argsDigest);
      const executed = (await rig.engine.recorded(id)).find(({ kind }) => kind === 'tool.executed');
      expect(executed?.data.argsDigest).toBe(request.argsDigest);
    },
  );

  it.each(EXECUTORS)(
    '107: what is done to any object while people think does not change what runs ($executor)',
    async ({ start }) => {
      const mine = { payee: 'Acme Ltd', amount: '10.00' };
      behaviour.rewrite = () => mine;
      const { id } = await start(rig.engine, [pay('1.00')]);
      const request = await onlyRequest(rig.engine, id);
      for (const kept of behaviour.kept) {
        try {
          kept.amount = '9999.00';
          kept.payee = 'Mallory';
        } catch {
          // Frozen.
        }
      }
      expect(mine.payee).toBe('Mallory');
      await rig.engine.decide(request.id, 'approve');
      await rig.engine.finished(id);
      expect(rig.payments.calls.map(({ body }) => body)).toEqual([{ payee: 'Acme Ltd', amount: '10.00' }]);
    },
  );

  it.each<[string, (args: JsonObject) => unknown]>([
    ['leaves an argument out', () => ({ payee: 'Acme Ltd' })],
    ['adds one the tool does not know', (args) => ({ ...args, note: 'x' })],
    ['changes a type', (args) => ({ ...args, amount: 10 })],
    ['is a list', () => ['Acme Ltd', '10.00']],
    ['is of a class', () => new Date()],
    ['holds what is no JSON', (args) => ({ ...args, amount: () => '10.00' })],
    ['holds a NUL', (args) => ({ ...args, payee: 'Acme\u0000Ltd' })],
    ['holds half a character', (args) => ({ ...args, payee: 'Acme \ud83d' })],
    ['is larger than arguments may be', (args) => ({ ...args, payee: 'x'.repeat(300_000) })],
    [
      'smuggles a prototype',
      () => JSON.parse('{"payee":"Acme Ltd","amount":"10.00","__proto__":{"confirm":true}}'),
    ],
  ])('a rewrite that %s lets nothing run, and asks nobody', async (_what, rewrite) => {
    for (const { start, told } of EXECUTORS) {
      behaviour.rewrite = rewrite;
      const { id } = await start(rig.engine, [pay()]);
      const run = await rig.engine.finished(id);
      expect(told(rig, run)).toMatchObject([{ status: 'blocked', code: 'denied_by_hook', executed: false }]);
      const kinds = (await rig.engine.recorded(id)).map(({ kind }) => kind);
      expect(kinds).toEqual(['run.started', 'hook.failed', 'call.denied', 'run.finished']);
    }
    expect(rig.payments.calls).toEqual([]);
  });

  const elsewhere = (config: Config): Config =>
    withTools(config, (tools) =>
      tools.map((tool) => (tool.name === 'pay' ? { ...tool, path: '/log' } : tool)),
    );
  const without = (config: Config): Config =>
    withTools(config, (tools) => tools.filter(({ name }) => name !== 'pay'));
  const leftWithoutApprover = (config: Config): Config => ({
    ...config,
    people: config.people.map((person) => ({ ...person, active: person.id !== 'li.wei' })),
  });

  it.each(EXECUTORS)(
    '109: a tool that became another one meanwhile does not run under the old approval ($executor)',
    async ({ start }) => {
      const first = await rig.another();
      const { id } = await start(first, [pay()]);
      const request = await onlyRequest(first, id);
      await first.stop();
      // Nobody may take the run up but the process with the new configuration.
      await rig.database.connection.execute(sql`update runs set lease_owner = 'held' where id = ${id}`);
      await rig.database.connection.execute(
        sql`insert into run_workers values ('held', clock_timestamp() + interval '1 hour')`,
      );
      const second = await rig.another(elsewhere);
      await rig.engine.stop();
      await rig.database.connection.execute(sql`delete from run_workers where owner = 'held'`);
      await vote(second, request, 'approve');
      const run = await second.finished(id);
      expect(run.invocations).toMatchObject([{ status: 'blocked', error: { code: 'revoked' } }]);
      expect(await second.confirmations.get(request.id)).toMatchObject({
        execution: { status: 'revoked', detail: 'tool_changed' },
      });
      expect(rig.payments.calls).toEqual([]);
      await second.stop();
      rig = await restarted(rig);
    },
  );

  it.each(EXECUTORS)(
    '109: a tool that is gone meanwhile does not run, and its request is withdrawn ($executor)',
    async ({ start }) => {
      const { id } = await start(rig.engine, [pay()]);
      const request = await onlyRequest(rig.engine, id);
      await rig.engine.stop();
      const second = await rig.another(without);
      const run = await second.finished(id);
      expect(run.invocations).toMatchObject([{ status: 'blocked', error: { code: 'unknown_tool' } }]);
      expect((await second.confirmations.get(request.id))?.status).toBe('cancelled');
      await second.stop();
      rig = await restarted(rig);
    },
  );

  it('109: an approver who has left meanwhile does not decide', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      input: '[[{"name":"oa__pay","arguments":{"payee":"Acme Ltd","amount":"10.00"}}]]',
    });
    const request = await onlyRequest(rig.engine, id);
    const second = await rig.another(leftWithoutApprover);
    expect(await vote(second, request, 'approve')).toMatchObject({ kind: 'refused' });
    expect((await second.confirmations.get(request.id))?.status).toBe('pending');
    await rig.engine.engine.runs.cancel(id);
    expect(rig.payments.calls).toEqual([]);
  });

  async function restarted(old: CaseRig): Promise<CaseRig> {
    return { ...old, engine: await old.another() };
  }
});
