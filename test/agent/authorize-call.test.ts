import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuthorizeCall } from '../../src/agent/run-service.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId, type ConfirmationId, personId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { type Seen, sampleHooks } from './sample-hooks.ts';

const PAYMENT = { payee: 'Acme Ltd', amount: '10.00' };

describe('an outside agent that asks', () => {
  const seen: Seen = { settled: [], results: [], sessions: [] };
  let database: Database;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await openPostgres();
    engine = await startEngine({
      database,
      config: sampleConfig({
        modelUrl: 'http://127.0.0.1:9',
        toolUrl: 'http://127.0.0.1:9',
        agents: [
          agent('buyer', {
            model: null,
            hooks: ['deny-log', 'rewrite-payee'].map((name) => ({ name, options: {} })),
          }),
          agent('strict', { model: null, requireConfirmationForAll: true }),
          agent('ownerless', { model: null, owner: null }),
        ],
      }),
      hookKinds: sampleHooks(seen),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
  });
  beforeEach(() => {
    engine.audited.length = 0;
    engine.warnings.length = 0;
    engine.gateFault = null;
    engine.auditFault = null;
  });

  const ask = (changes: Partial<AuthorizeCall> = {}) =>
    engine.engine.authorizer.authorize({
      tool: 'oa__pay',
      args: PAYMENT,
      agent: agentId('buyer'),
      session: null,
      callId: null,
      requester: null,
      summary: null,
      metadata: {},
      apiKeyId: 'key',
      idempotencyKey: null,
      bodyDigest: 'sha256:body',
      ...changes,
    });
  const requestOf = async (answer: Awaited<ReturnType<typeof ask>>) => {
    if (answer.kind !== 'pending') throw new Error(`the answer was ${answer.kind}`);
    return engine.confirmations.get(answer.confirmationId as ConfirmationId);
  };

  it('is allowed what nothing gates, with the arguments as the hooks left them, on the record', async () => {
    const answer = await ask({ tool: 'oa__pay_freely', args: { payee: 'acme', amount: '10.00' } });
    expect(answer).toEqual({
      kind: 'allow',
      args: { payee: 'Acme Ltd', amount: '10.00' },
      argsDigest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect(engine.audited).toMatchObject([
      {
        kind: 'call.allowed',
        actor: { type: 'key', id: 'key', name: 'buyer' },
        data: { tool: 'oa__pay_freely' },
      },
    ]);
  });

  it('waits for a person where the call is gated, for the owner unless it names somebody', async () => {
    const answer = await ask({ summary: 'The tail payment.', callId: 'c-1' });
    expect(answer).toMatchObject({ kind: 'pending', created: true });
    expect(await requestOf(answer)).toMatchObject({
      status: 'pending',
      tool: 'oa__pay',
      args: PAYMENT,
      requester: { id: 'zhao.min' },
      requesterNamedByAgent: false,
      summary: 'The tail payment.',
      callId: 'c-1',
      apiKeyId: 'key',
      runId: null,
    });
    const named = await requestOf(await ask({ requester: personId('zhao.min') }));
    expect(named).toMatchObject({ requesterNamedByAgent: true });
  });

  it('may ask about tools that it owns, under a name of the list', async () => {
    expect(await ask({ tool: 'bank__transfer', args: { any: ['thing'] } })).toMatchObject({ kind: 'allow' });
    const gated = await ask({ tool: 'bank__transfer', agent: agentId('strict') });
    expect(await requestOf(gated)).toMatchObject({ tool: 'bank__transfer', toolVersion: null });
  });

  it.each([
    ['bank__transfer '],
    ['bank__transfer\n'],
    ['bank__transfer\u200b'],
    ['bank__\u202etransfer'],
    ['bank__tr\u0430nsfer'],
    ['bank__\uff54ransfer'],
    ['bank__*'],
    ['bank__<!channel>'],
    [`bank__${'x'.repeat(200)}`],
  ])('may not ask under a name that only looks like another: %j', async (tool) => {
    await expect(ask({ tool })).rejects.toMatchObject({ code: 'unknown_tool' });
  });

  it.each([['bank__wire.Transfer-2'], ['bank__payments/create'], ['bank__付款']])(
    'may ask under plain names: %s',
    async (tool) => {
      expect(await ask({ tool })).toMatchObject({ kind: 'allow' });
    },
  );

  it('is gated, too, where the configuration does not know it', async () => {
    const stranger = { agent: agentId('stranger'), requester: personId('zhao.min') };
    expect(await ask(stranger)).toMatchObject({ kind: 'pending' });
    expect(await ask({ ...stranger, tool: 'oa__log', args: {} })).toMatchObject({ kind: 'allow' });
  });

  it('is denied what a hook blocks, on the record', async () => {
    expect(await ask({ tool: 'oa__log', args: {} })).toEqual({
      kind: 'deny',
      code: 'denied_by_hook',
      message: 'Logging is not for agents.',
      retryAfter: null,
      confirmationId: null,
    });
    expect(engine.audited).toMatchObject([{ kind: 'call.denied', data: { code: 'denied_by_hook' } }]);
  });

  it('is denied while the gate cannot be asked', async () => {
    engine.gateFault = () => Promise.reject(new Error('the database is down'));
    const answer = await ask();
    expect(answer).toMatchObject({ kind: 'deny', code: 'gate_unavailable' });
    expect(JSON.stringify(answer)).not.toContain('database');
    expect(engine.audited.map(({ kind }) => kind)).toEqual(['hook.failed', 'call.denied']);
    // What was thrown may quote arguments, so it stands on the record alone.
    const failure = {
      hook: 'confirmation-gate',
      point: 'PreToolUse',
      reason: 'threw',
      agent: 'buyer',
      run: null,
    };
    expect(engine.warnings).toEqual([[failure, 'a hook failed']]);
  });

  it('is denied what cannot be written down, though nothing gates it', async () => {
    engine.auditFault = () => Promise.reject(new Error('the record is full'));
    expect(await ask({ tool: 'oa__pay_freely' })).toMatchObject({ kind: 'deny', code: 'gate_unavailable' });
  });

  it('hears of the request that ended at once because nobody could decide it', async () => {
    const answer = await ask({ tool: 'oa__pay_nobody' });
    expect(answer).toMatchObject({ kind: 'deny', code: 'undeliverable', confirmationId: expect.any(String) });
    expect(engine.audited).toMatchObject([{ kind: 'call.denied', confirmation: expect.any(String) }]);
  });

  it.each<[string, Partial<AuthorizeCall>, string]>([
    ['a tool that is not there', { tool: 'oa__nothing' }, 'unknown_tool'],
    ['a tool whose name only looks like an external one', { tool: 'Bank__transfer' }, 'unknown_tool'],
    ['arguments that do not fit', { args: { payee: 'a' } }, 'invalid_arguments'],
    ['a requester whom nobody knows', { requester: personId('nobody') }, 'unknown_requester'],
    ['nobody to act for', { agent: agentId('ownerless') }, 'unknown_requester'],
    ['nobody to act for and no configuration', { agent: agentId('stranger') }, 'unknown_requester'],
  ])('is refused %s', async (_what, changes, code) => {
    await expect(ask(changes)).rejects.toMatchObject({ code });
    expect(engine.audited).toEqual([]);
  });

  it('gets one request for one Idempotency-Key, however often it asks at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask({ idempotencyKey: 'k-1', bodyDigest: 'sha256:1' })),
    );
    const ids = new Set(
      answers.map((answer) => (answer.kind === 'pending' ? answer.confirmationId : answer.kind)),
    );
    expect(ids.size).toBe(1);
    expect(answers.filter((answer) => answer.kind === 'pending' && answer.created).length).toBe(1);
    await expect(ask({ idempotencyKey: 'k-1', bodyDigest: 'sha256:2' })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
  });
});
