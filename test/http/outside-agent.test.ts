import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryRecord } from '../../src/confirmation/delivery-record.ts';
import type { Database } from '../../src/db/database.ts';
import { confirmationJson } from '../../src/http/confirmation-json.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { agentId, channelId, newInvocationId, newRunId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { createDescriptionCheck } from './described.ts';
import { as, createNeighbours, type Neighbours, startApp } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };

/** The real core on each database, behind the real application. */
describe.each(DATABASES)('an outside agent, on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let neighbours: Neighbours;
  let app: HttpApp;
  let checkDescribed: ReturnType<typeof createDescriptionCheck>;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
    neighbours = createNeighbours();
    neighbours.authorize = async (call) => {
      const answer = await core.gate.ask({
        confirmationForAll: false,
        signal: new AbortController().signal,
        context: {
          toolName: call.tool,
          toolArgs: call.args,
          agentId: call.agent,
          userId: call.requester,
          sessionId: call.session,
          runId: null,
          metadata: {
            organization: 'acme',
            conversation: null,
            connector: null,
            toolVersion: null,
            writes: true,
            requiresConfirmation: true,
            invocationId: null,
            callId: call.callId,
            parentRunId: null,
            evaluation: false,
            ask: {
              apiKeyId: call.apiKeyId,
              idempotencyKey: call.idempotencyKey,
              bodyDigest: call.bodyDigest,
              requesterNamedByAgent: call.requester !== null,
              summary: call.summary,
              metadata: call.metadata,
            },
          },
        },
      });
      switch (answer.kind) {
        case 'pending':
          return { ...answer, created: true };
        case 'denied':
          return { ...answer, kind: 'deny', retryAfter: null };
        default:
          return { kind: 'allow', args: call.args, argsDigest: 'sha256:0' };
      }
    };
    app = startApp(neighbours, core.service);
    await app.ready();
    checkDescribed = createDescriptionCheck(app);
  });

  afterAll(async () => {
    await app.close();
    core.stop();
    await database.close();
  });

  beforeEach(() => {
    core.policy = POLICY;
    core.match = null;
  });

  /** Every answer of these tests is held against the API description. */
  async function call(caller: string, method: 'GET' | 'POST', url: string, payload?: object, headers = {}) {
    const response = await app.inject({
      method,
      url,
      headers: { ...as(caller), ...headers },
      ...(payload ? { payload } : {}),
    });
    checkDescribed(method, url, response);
    return response;
  }

  const body = (changes: object = {}) => ({
    tool: 'bank__transfer',
    args: ARGS,
    agent: 'procurement',
    requester: 'zhao.min',
    ...changes,
  });

  const ask = (changes: object = {}, headers = {}) =>
    call('procurement', 'POST', '/v1/confirmations', body(changes), headers);

  async function asked(changes: object = {}): Promise<{ id: string; argsDigest: string }> {
    const response = await ask(changes);
    expect(response.statusCode).toBe(201);
    return response.json().confirmation;
  }

  const vote = (caller: string, { id, argsDigest }: { id: string; argsDigest: string }, more: object = {}) =>
    call(caller, 'POST', `/v1/confirmations/${id}/votes`, { verdict: 'approve', argsDigest, ...more });

  async function approved() {
    const confirmation = await asked();
    expect((await vote('wang.fang', confirmation)).statusCode).toBe(200);
    return confirmation;
  }

  it('asks, waits, claims, runs and reports', async () => {
    const response = await ask({
      session: 's1',
      callId: 'c1',
      summary: 'Pay Acme',
      metadata: { order: '7' },
    });
    expect(response.statusCode).toBe(201);
    const { decision, confirmation } = response.json();
    expect(decision).toBe('pending');
    expect(response.headers.location).toBe(`/v1/confirmations/${confirmation.id}`);
    expect(confirmation).toMatchObject({
      status: 'pending',
      tool: 'bank__transfer',
      args: ARGS,
      argsDigest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      verificationCode: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{8}$/),
      summary: 'Pay Acme',
      agent: 'procurement',
      session: 's1',
      callId: 'c1',
      requester: { id: 'zhao.min' },
      policy: { id: 'large-payment', quorum: 1 },
      decision: null,
      decidedAt: null,
      executeBy: null,
      execution: { status: 'none', at: null, detail: null },
    });

    const url = `/v1/confirmations/${confirmation.id}`;
    const waiting = call('procurement', 'GET', `${url}?wait=30s`);
    await until(() => core.waiter.size > 0);
    await vote('wang.fang', confirmation);
    expect((await waiting).json()).toMatchObject({
      status: 'approved',
      decision: { status: 'approved', code: 'approved' },
      execution: { status: 'unclaimed' },
      executeBy: expect.any(String),
    });

    const other = await call('procurement', 'POST', `${url}/claim`, {
      args: { ...ARGS, amount: '68000.01' },
    });
    expect([other.statusCode, problemOf(other).code]).toEqual([409, 'args_changed']);
    const claim = await call('procurement', 'POST', `${url}/claim`, { args: ARGS });
    expect(claim.json()).toMatchObject({
      claimed: true,
      executeBy: expect.any(String),
      confirmation: { execution: { status: 'claimed', at: expect.any(String) } },
    });
    const twice = await call('procurement', 'POST', `${url}/claim`, { args: ARGS });
    expect([twice.statusCode, problemOf(twice).code]).toEqual([409, 'already_claimed']);

    const outcome = { status: 'succeeded', detail: 'receipt 7' };
    expect((await call('procurement', 'POST', `${url}/outcome`, outcome)).json().execution).toMatchObject(
      outcome,
    );
    expect((await call('procurement', 'POST', `${url}/outcome`, outcome)).statusCode).toBe(200);
    const changed = await call('procurement', 'POST', `${url}/outcome`, { status: 'failed' });
    expect([changed.statusCode, problemOf(changed).code]).toEqual([409, 'outcome_recorded']);
  });

  it('gets the existing request for a repeated key, whatever the order of the body', async () => {
    const header = { 'idempotency-key': 'order-7' };
    const first = await ask({}, header);
    expect(first.statusCode).toBe(201);
    const { requester, agent, args, tool } = body();
    const reordered = {
      requester,
      args: { payee: args.payee, currency: args.currency, amount: args.amount },
      agent,
      tool,
    };
    const again = await call('procurement', 'POST', '/v1/confirmations', reordered, header);
    expect(again.statusCode).toBe(200);
    expect(again.json()).toMatchObject({
      decision: 'pending',
      confirmation: { id: first.json().confirmation.id },
    });
    const other = await ask({ args: { ...ARGS, amount: '1.00' } }, header);
    expect([other.statusCode, problemOf(other).code]).toEqual([409, 'idempotency_conflict']);
    const otherKey = await call('root', 'POST', '/v1/confirmations', { ...body(), requester: null }, header);
    expect(otherKey.statusCode).not.toBe(200);
  });

  it('stores one request when the same key comes twice at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask({}, { 'idempotency-key': 'at-once' })),
    );
    const ids = new Set(answers.map((answer) => answer.json().confirmation.id));
    expect(ids.size).toBe(1);
  });

  it('is denied at once where too few people could decide', async () => {
    core.policy = { ...POLICY, quorum: 2, approvers: POLICY.approvers.slice(2, 4) };
    const header = { 'idempotency-key': 'nobody' };
    for (const response of [await ask({}, header), await ask({}, header)]) {
      expect(response.statusCode).toBe(200);
      expect(response.json()).toMatchObject({
        decision: 'deny',
        error: { code: 'undeliverable', message: expect.any(String), retryable: false },
        confirmation: { status: 'undeliverable' },
      });
    }
  });

  it('is not told who may vote, and people are: delegates with the person for whom they do', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    core.absences.set('li.wei', { from: null, until: null, delegate: person('voter-0') });
    const { confirmation } = (await ask({}, { 'idempotency-key': 'away' })).json();
    core.absences.clear();
    expect(confirmation).not.toHaveProperty('approvers');
    const surface = { kind: 'api' } as const;
    const vote = {
      id: confirmation.id,
      verdict: 'approve',
      reason: null,
      argsDigest: null,
      surface,
    } as const;
    await core.service.decide({ ...vote, person: person('voter-0') });
    const request = await core.service.get(confirmation.id);
    if (request === null) throw new Error('the request has gone');
    const shown = confirmationJson({
      ...{ request, deliveries: [], frozen: false },
      ...{ audience: 'people', seesFollowed: true },
    });
    expect(shown.approvers?.at(-1)).toEqual({
      ...{ id: 'voter-0', name: 'voter-0' },
      for: { id: 'li.wei', name: 'li.wei' },
    });
    expect(shown.approvers?.[0]).toEqual({ id: 'li.wei', name: 'li.wei' });
    expect(shown.votes).toMatchObject([{ person: { id: 'voter-0' }, for: { id: 'li.wei' } }]);
  });

  it('is told what everybody who approved wrote, and not who', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    const confirmation = await asked();
    await vote('li.wei', confirmation, { reason: 'Contract 7' });
    const closed = (await vote('wang.fang', confirmation, { reason: 'Budget checked' })).json();
    expect(closed.decision).toMatchObject({ by: { id: 'wang.fang' }, reason: 'Budget checked' });
    const { decision } = (await call('procurement', 'GET', `/v1/confirmations/${confirmation.id}`)).json();
    expect(decision).toEqual({
      ...{ status: 'approved', code: 'approved', at: expect.any(String) },
      reason: 'Contract 7\nBudget checked',
    });
  });

  it('reads which rejection its question follows; who may not see that one reads only that there is one', async () => {
    const session = { session: 'after a rejection' };
    core.policy = { ...POLICY, id: 'earlier', approvers: [person('li.wei')] };
    const rejected = await asked(session);
    const closed = (
      await vote('li.wei', rejected, { verdict: 'reject', reason: 'change the amount' })
    ).json();
    core.policy = { ...POLICY, approvers: [person('wang.fang')] };
    const { id } = await asked({ ...session, args: { ...ARGS, amount: '60000.00' } });
    const readBy = async (caller: string) =>
      (await call(caller, 'GET', `/v1/confirmations/${id}`)).json().follows;
    const fact = { id: rejected.id, at: closed.decidedAt, sameArguments: false };
    const by = { id: 'li.wei', name: 'li.wei' };
    expect(await readBy('procurement')).toEqual({ ...fact, reason: 'change the amount' });
    for (const caller of ['zhao.min', 'li.wei', 'audit']) {
      expect(await readBy(caller)).toEqual({ ...fact, reason: 'change the amount', by });
    }
    expect(await readBy('wang.fang')).toEqual(fact);
    const listed = (await call('wang.fang', 'GET', '/v1/confirmations?limit=1')).json().items;
    expect(listed).toMatchObject([{ id, follows: fact }]);
    expect((await call('audit', 'GET', `/v1/confirmations/${rejected.id}`)).json().follows).toBeNull();
  });

  it('is not told whom a direct message went to, nor what the platform said about them', async () => {
    const request = await core.service.get(await core.pending());
    if (request === null) throw new Error('the request has gone');
    const direct: DeliveryRecord = {
      channel: channelId('pay-slack'),
      person: { id: person('li.wei'), name: '李伟' },
      ...({ state: 'failed', messageIds: ['1.2'], error: 'U0LIWEI cannot be reached' } as const),
      at: new Date(),
    };
    const shownTo = (audience: 'agent' | 'people') =>
      confirmationJson({
        ...{ request, deliveries: [direct], frozen: false },
        ...{ audience, seesFollowed: true },
      }).deliveries[0];
    expect(shownTo('people')).toMatchObject({ person: { id: 'li.wei' }, error: direct.error });
    expect(shownTo('agent')).toEqual({
      ...{ channel: 'pay-slack', state: 'failed', messageIds: [], error: null },
      at: direct.at.toISOString(),
    });
  });

  it('hears what a hook denied, whether to try again, and when', async () => {
    const authorize = neighbours.authorize;
    neighbours.authorize = async () => ({
      kind: 'deny',
      code: 'rate_limited',
      message: 'Too many calls.',
      retryAfter: 30,
      confirmationId: null,
    });
    const response = await ask();
    neighbours.authorize = authorize;
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual({
      decision: 'deny',
      error: { code: 'rate_limited', message: 'Too many calls.', retryable: true, retryAfter: 30 },
    });
  });

  it('cannot use a grant before the decision, after a rejection, or of a run', async () => {
    const claim = (id: string) =>
      call('procurement', 'POST', `/v1/confirmations/${id}/claim`, { args: ARGS });
    const pending = await asked();
    expect(problemOf(await claim(pending.id)).code).toBe('not_approved');
    await vote('wang.fang', pending, { verdict: 'reject', reason: 'no' });
    expect(problemOf(await claim(pending.id)).code).toBe('not_approved');

    const run = neighbours.runs.add();
    const id = await core.pending(ARGS, { runId: run.id, agentId: agentId('procurement') });
    const ofRun = await core.service.get(id);
    await vote('wang.fang', { id, argsDigest: ofRun?.argsDigest ?? '' });
    const refused = await claim(id);
    expect([refused.statusCode, problemOf(refused).code]).toEqual([403, 'grant_of_a_run']);
  });

  it('withdraws a pending request, and the unused grant of an approved one', async () => {
    const cancel = (id: string) =>
      call('procurement', 'POST', `/v1/confirmations/${id}/cancel`, { reason: 'not needed' });
    const pending = await asked();
    for (const response of [await cancel(pending.id), await cancel(pending.id)]) {
      expect(response.json()).toMatchObject({ status: 'cancelled', decision: { reason: 'not needed' } });
    }
    const { id } = await approved();
    expect((await cancel(id)).json()).toMatchObject({ status: 'approved', execution: { status: 'revoked' } });
    const rejected = await asked();
    await vote('wang.fang', rejected, { verdict: 'reject' });
    const late = await cancel(rejected.id);
    expect(late.statusCode).toBe(409);
    const problem = problemOf(late);
    expect(problem).toMatchObject({ code: 'already_decided', decision: { status: 'rejected' } });
    expect(JSON.stringify(problem)).not.toContain('wang.fang');
  });

  it('tells each voter how it stands', async () => {
    const confirmation = await asked();
    const codeOf = async (caller: string, more: object = {}) => {
      const response = await vote(caller, confirmation, more);
      return [response.statusCode, problemOf(response).code];
    };
    expect(await codeOf('sun.li')).toEqual([403, 'not_an_approver']);
    expect(await codeOf('zhao.min')).toEqual([403, 'self_approval']);
    expect(await codeOf('wang.fang', { argsDigest: 'sha256:0' })).toEqual([409, 'args_changed']);
    for (const response of [await vote('wang.fang', confirmation), await vote('wang.fang', confirmation)]) {
      expect(response.statusCode).toBe(200);
      expect(response.json()).toMatchObject({ status: 'approved', votes: [{ person: { id: 'wang.fang' } }] });
    }
    const late = await vote('li.wei', confirmation);
    expect(late.statusCode).toBe(409);
    expect(problemOf(late)).toMatchObject({
      code: 'already_decided',
      decision: { status: 'approved', by: { id: 'wang.fang' }, at: expect.any(String), reason: null },
    });
  });

  it('asks a voter for the reason that the policy wants, and takes no blank one', async () => {
    core.policy = { ...POLICY, reason: 'always' };
    const confirmation = await asked();
    for (const more of [{}, { reason: '' }, { reason: '  \n ' }, { reason: null }]) {
      const response = await vote('wang.fang', confirmation, more);
      expect([response.statusCode, problemOf(response).code]).toEqual([422, 'reason_required']);
    }
    expect((await vote('wang.fang', confirmation, { reason: ' fine ' })).json().votes[0].reason).toBe('fine');
  });

  it('076: answers a vote after the deadline 410, with what it ended as', async () => {
    core.policy = { ...POLICY, decideWithinMs: 1 };
    const confirmation = await asked();
    const response = await until(async () => {
      const answer = await vote('wang.fang', confirmation);
      return answer.statusCode === 410 ? answer : null;
    });
    expect(problemOf(response)).toMatchObject({ code: 'expired', decision: { status: 'expired', by: null } });
  });

  it('lets an approver settle what nobody knows, and nobody else', async () => {
    const { id } = await approved();
    await call('procurement', 'POST', `/v1/confirmations/${id}/claim`, { args: ARGS });
    const settle = (caller: string) =>
      call(caller, 'POST', `/v1/confirmations/${id}/settlement`, {
        status: 'succeeded',
        detail: 'seen at the bank',
      });
    expect(problemOf(await settle('wang.fang')).code).toBe('not_unknown');
    await call('procurement', 'POST', `/v1/confirmations/${id}/outcome`, {
      status: 'unknown',
      detail: 'time-out',
    });
    expect(problemOf(await settle('sun.li')).code).toBe('not_an_approver');
    expect((await settle('wang.fang')).json().execution).toMatchObject({
      status: 'succeeded',
      detail: 'seen at the bank',
      by: { id: 'wang.fang' },
    });
    const again = await call('wang.fang', 'POST', `/v1/confirmations/${id}/settlement`, {
      status: 'run_again',
      detail: 'once more',
    });
    expect(problemOf(again)).toMatchObject({ code: 'not_unknown', execution: { by: { id: 'wang.fang' } } });
  });

  it('asks again with other arguments: the two questions name each other, and only the newer can be approved', async () => {
    const call1 = { session: `s-${database.kind}`, callId: 'pay-1' };
    const older = await asked(call1);
    const newer = await asked({ ...call1, args: { ...ARGS, amount: '1.00' } });
    const read = (id: string) => call('procurement', 'GET', `/v1/confirmations/${id}`);
    expect((await read(older.id)).json()).toMatchObject({
      status: 'cancelled',
      decision: { code: 'superseded' },
      supersededBy: newer.id,
    });
    expect((await read(newer.id)).json()).toMatchObject({ status: 'pending', supersedes: older.id });
    expect(problemOf(await vote('wang.fang', older))).toMatchObject({
      code: 'already_decided',
      decision: { status: 'cancelled', code: 'superseded' },
    });
  });

  it('has an unknown call of a run asked about again, once that can no longer be sent', async () => {
    core.idempotent.add('bank__transfer');
    const run = newRunId();
    const invocation = newInvocationId();
    const id = await core.pending(ARGS, { runId: run, metadata: { invocationId: invocation } });
    const read = async (of: string) => (await call('wang.fang', 'GET', `/v1/confirmations/${of}`)).json();
    await vote('wang.fang', await read(id));
    const actor = { type: 'run', run, agent: agentId('procurement') } as const;
    await core.service.claim({ id, args: ARGS, actor });
    await core.service.recordOutcome({ id, status: 'unknown', detail: 'HTTP 503', actor });
    const settle = (status: string, detail = 'nothing at the bank') =>
      call('wang.fang', 'POST', `/v1/confirmations/${id}/settlement`, { status, detail });
    const early = problemOf(await settle('run_again'));
    expect(early).toMatchObject({
      status: 409,
      code: 'not_yet_settleable',
      retryable: true,
      retryAfter: expect.any(Number),
      execution: { settleFrom: expect.any(String) },
    });
    await endOldAttempt(database, id);
    expect(problemOf(await settle('run_again', ' '))).toMatchObject({ status: 422, code: 'reason_required' });
    const again = (await settle('run_again')).json();
    expect(again).toMatchObject({
      id,
      invocation,
      execution: { status: 'unknown', runAgain: { reason: 'nothing at the bank', by: { id: 'wang.fang' } } },
    });
    expect(await read(again.supersededBy)).toMatchObject({
      status: 'pending',
      supersedes: id,
      invocation,
      args: ARGS,
    });
    expect(problemOf(await settle('succeeded'))).toMatchObject({
      status: 409,
      code: 'superseded',
      execution: { runAgain: { by: { id: 'wang.fang' } } },
    });
  });

  it('lists the newest first, page by page, and filters', async () => {
    const tool = `bank__page_${database.kind}`;
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift((await asked({ tool })).id);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor ? `&cursor=${cursor}` : '';
      const page = await call('audit', 'GET', `/v1/confirmations?limit=2&tool=${tool}&status=pending${more}`);
      expect(page.statusCode).toBe(200);
      seen.push(...page.json().items.map(({ id }: { id: string }) => id));
      cursor = page.json().nextCursor;
    } while (cursor);
    expect(seen).toEqual(ids);
    const none = await call('audit', 'GET', `/v1/confirmations?tool=${tool}&status=approved`);
    expect(none.json()).toEqual({ items: [], nextCursor: null });
  });

  it('holds an answer no longer than asked, and not at all without `wait`', async () => {
    const { id } = await asked();
    expect((await call('procurement', 'GET', `/v1/confirmations/${id}`)).json().status).toBe('pending');
    expect((await call('procurement', 'GET', `/v1/confirmations/${id}?wait=20ms`)).json().status).toBe(
      'pending',
    );
    expect(core.waiter.size).toBe(0);
  });

  it('forgets the wait of a client that hangs up', async () => {
    const { id } = await asked();
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const client = httpRequest(new URL(`/v1/confirmations/${id}?wait=60s`, url), {
      headers: as('procurement'),
    });
    client.on('error', () => {});
    client.end();
    await until(() => core.waiter.size === 1);
    client.destroy();
    await until(() => core.waiter.size === 0);
  });
});
