import { readFile, writeFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { until } from '../support/until.ts';
import { call } from './fakes/model.ts';
import { texts } from './fakes/slack.ts';
import { runCommand } from './gate.ts';
import type { AuditEvent, Confirmation, Problem, Run } from './shapes.ts';
import { accounts, keys, startWorld, type World } from './world.ts';

vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const small = { payee: 'ACME', amount: '10', currency: 'CNY' };

/** Files are the same for both databases; tests of one run stand in the order of the service's life. */
describe.each(['pglite', 'postgres'])('operation on %s', (database) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({
      name: 'operations',
      postgresUrl: database === 'postgres' ? inject('postgresUrl') : undefined,
      change: (config) => ({
        ...config,
        agents: (config.agents as Record<string, unknown>[]).map((agent) =>
          agent.id === 'helper'
            ? { ...agent, hooks: { class_hooks: [{ 'connector-rate-limit': { limit: 2, window: '1m' } }] } }
            : agent,
        ),
      }),
    });
  });
  afterAll(() => world?.stop());

  const ask = async (tool = 'bank__transfer', args: unknown = small): Promise<Confirmation> => {
    const asked = await world.gate.ask({ tool, args, agent: 'procurement' }, keys.agent);
    expect(asked.status, asked.text).toBe(201);
    return asked.body.confirmation;
  };
  const vote = (one: Confirmation, key: string, verdict = 'approve', reason?: string) =>
    world.gate.call<Confirmation>('POST', `/v1/confirmations/${one.id}/votes`, {
      key,
      body: { verdict, argsDigest: one.argsDigest, reason },
    });
  const decided = (one: Confirmation) =>
    until(
      async () => {
        const { body } = await world.gate.events(`confirmation=${one.id}&limit=100`, keys.auditor);
        return body.items.some(({ kind }) => kind === 'confirmation.decided') ? body.items : undefined;
      },
      { what: 'the decision in the log' },
    );
  const readOnly = (key: string, body: unknown) =>
    world.gate.call<Problem>('PUT', '/v1/read-only', { key, body });

  it('answers whoever asks whether it lives and is ready', async () => {
    expect((await world.gate.call('GET', '/healthz')).status).toBe(200);
    expect((await world.gate.call('GET', '/readyz')).status).toBe(200);
    const metrics = await world.gate.call('GET', '/metrics');
    expect(metrics.status).toBe(200);
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(metrics.text).toMatch(/^# TYPE countersign_/m);
  });

  it('describes itself, completely', async () => {
    const document = await world.gate.call<{
      openapi: string;
      paths: Record<string, Record<string, unknown>>;
    }>('GET', '/openapi.json');
    expect(document.status).toBe(200);
    expect(document.body.openapi).toMatch(/^3\./);
    for (const [path, method] of [
      ['/v1/confirmations', 'post'],
      ['/v1/confirmations', 'get'],
      ['/v1/confirmations/{id}', 'get'],
      ['/v1/confirmations/{id}/claim', 'post'],
      ['/v1/confirmations/{id}/outcome', 'post'],
      ['/v1/confirmations/{id}/cancel', 'post'],
      ['/v1/confirmations/{id}/votes', 'post'],
      ['/v1/confirmations/{id}/settlement', 'post'],
      ['/v1/read-only', 'put'],
      ['/v1/runs', 'post'],
      ['/v1/runs/{id}', 'get'],
      ['/v1/runs/{id}/events', 'get'],
      ['/v1/runs/{id}/cancel', 'post'],
      ['/v1/audit/events', 'get'],
      ['/v1/audit/verify', 'get'],
      ['/v1/audit/export', 'get'],
    ] as const)
      expect(document.body.paths[path]?.[method], `${method} ${path}`).toBeDefined();
    const docs = await fetch(`${world.gate.url}/docs`);
    expect(docs.status).toBe(200);
    expect(docs.headers.get('content-type')).toMatch(/html/);
  });

  it('sends security headers and problems for unknown routes and methods', async () => {
    const answer = await world.gate.call<Problem>('GET', '/v1/nothing', { key: keys.admin });
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toMatch(/problem\+json/);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-security-policy')).toEqual(expect.any(String));
    expect(answer.headers.get('x-powered-by')).toBeNull();
    expect([404, 405]).toContain(
      (await world.gate.call('DELETE', '/v1/confirmations', { key: keys.admin })).status,
    );
    expect((await world.gate.call('POST', '/channels/nobody/callback', { body: {} })).status).toBe(404);
  });

  it('shows one request as a page to who signs in, and to nobody else', async () => {
    const one = await ask();
    const bare = await fetch(`${world.gate.url}/requests/${one.id}`, { redirect: 'manual' });
    expect(await bare.text()).not.toContain(one.verificationCode);
    const page = await world.gate.call('GET', `/requests/${one.id}`, {
      key: keys.liWei,
      headers: { accept: 'text/html' },
    });
    expect(page.status).toBe(200);
    for (const part of [one.verificationCode, 'bank__transfer', 'ACME', one.argsDigest])
      expect(page.text, part).toContain(part);
    const wrong = await world.gate.call('GET', `/requests/${one.id}`, { key: 'wrong' });
    expect([wrong.status, wrong.text.includes(one.verificationCode)]).toEqual([401, false]);
  });

  it('writes every step of a request down, oldest first, with hash and actor', async () => {
    const one = await ask('bank__transfer', { ...small, amount: '60000' });
    await vote(one, keys.liWei);
    await vote(one, keys.qianYi);
    await vote(one, keys.wangFang);
    const path = `/v1/confirmations/${one.id}`;
    await world.gate.call('POST', `${path}/claim`, { key: keys.agent, body: { args: one.args } });
    await world.gate.call('POST', `${path}/outcome`, {
      key: keys.agent,
      body: { status: 'succeeded', detail: 'R-1' },
    });
    const kinds = ['confirmation.requested', 'vote.cast', 'confirmation.decided', 'grant.claimed'];
    const events = await until(async () => {
      const { items } = (await world.gate.events(`confirmation=${one.id}&limit=100`, keys.auditor)).body;
      return kinds.every((kind) => items.some((event) => event.kind === kind)) ? items : undefined;
    });
    expect(events.filter((event) => event.kind === 'vote.cast').length).toBeGreaterThanOrEqual(2);
    expect(events.map((event) => event.seq)).toEqual(
      [...events.map((event) => event.seq)].sort((a, b) => a - b),
    );
    expect(JSON.stringify(events), 'the refused attempt').toContain('qian.yi');
    for (const event of events) {
      expect(event).toMatchObject({
        id: expect.anything(),
        at: expect.any(String),
        confirmation: one.id,
        hash: expect.any(String),
      });
      expect(event).toHaveProperty('prevHash');
      expect(['person', 'agent', 'key', 'system']).toContain(event.actor.type);
    }
    expect(events.find((event) => event.kind === 'vote.cast')?.actor).toMatchObject({
      type: 'person',
      id: 'li.wei',
      name: '李伟',
    });
  });

  it('filters and pages the log, and exports it whole as JSON lines', async () => {
    const one = await ask();
    await vote(one, keys.liWei, 'reject', 'no');
    await decided(one);
    const first = await world.gate.events(`confirmation=${one.id}&limit=1`, keys.auditor);
    expect(first.body.items).toHaveLength(1);
    const second = await world.gate.events(
      `confirmation=${one.id}&limit=1&cursor=${encodeURIComponent(String(first.body.nextCursor))}`,
      keys.auditor,
    );
    expect(second.body.items[0]?.seq).toBeGreaterThan(Number(first.body.items[0]?.seq));
    const cast = await world.gate.events(`confirmation=${one.id}&kind=vote.cast&person=li.wei`, keys.auditor);
    expect(cast.body.items).toHaveLength(1);
    expect(
      (await world.gate.events(`confirmation=${one.id}&person=sun.li&kind=vote.cast`, keys.auditor)).body
        .items,
    ).toEqual([]);
    const listed = (await world.gate.events(`confirmation=${one.id}&limit=100`, keys.auditor)).body.items;
    const text = (
      await world.gate.call('GET', `/v1/audit/export?format=jsonl&confirmation=${one.id}`, {
        key: keys.auditor,
      })
    ).text;
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEvent);
    expect(lines.length).toBeGreaterThanOrEqual(listed.length);
    expect(lines.slice(0, listed.length)).toEqual(listed);
    const csv = await world.gate.call('GET', `/v1/audit/export?format=csv&confirmation=${one.id}`, {
      key: keys.auditor,
    });
    expect([csv.status, csv.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/csv')]);
    const records = csv.text.split('\r\n').slice(0, -1);
    expect(records[0]).toMatch(/^seq,id,at,kind,/);
    expect(records.slice(1).map((record) => Number(record.split(',')[0]))).toEqual(
      lines.map(({ seq }) => seq),
    );
    expect((await world.gate.events('limit=x', keys.auditor)).status).toBeGreaterThanOrEqual(400);
  });

  it('verifies the log', async () => {
    await until(async () => {
      const answer = await world.gate.call<{ ok: boolean; events: number; head: string }>(
        'GET',
        '/v1/audit/verify',
        { key: keys.auditor },
      );
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ ok: true, events: expect.any(Number), head: expect.anything() });
      return answer.body.events > 0;
    });
    expect((await world.gate.call('GET', '/v1/audit/verify', { key: keys.zhouJing })).status).toBe(200);
    expect((await world.gate.call('GET', '/v1/audit/verify', { key: keys.liWei })).status).toBe(403);
  });

  it('blocks writing tools while it is switched to read-only, and revokes grants at their claim', async () => {
    const one = await ask();
    await vote(one, keys.liWei);
    for (const key of [keys.agent, keys.auditor, keys.wangFang])
      expect((await readOnly(key, { readOnly: true })).status, key).toBe(403);
    const on = await readOnly(keys.liWei, { readOnly: true });
    expect(on.status, on.text).toBe(200);
    const claim = await world.gate.call<Problem>('POST', `/v1/confirmations/${one.id}/claim`, {
      key: keys.agent,
      body: { args: one.args },
    });
    expect(claim.status).toBe(409);
    expect((await world.gate.confirmation(one.id, keys.liWei)).body.execution).toMatchObject({
      status: 'revoked',
      detail: 'read_only',
    });
    world.model.script = [
      { calls: [call('w', 'oa__note', {}), call('r', 'oa__search', { q: 'x' })] },
      { say: 'ok' },
    ];
    const run = await world.gate.call<{ run: Run }>('POST', '/v1/runs', {
      key: keys.agent,
      body: { agent: 'procurement', input: 'x' },
    });
    await world.gate.run(run.body.run.id, keys.agent, '?wait=20s');
    expect(world.model.toolMessages().get('w')).toMatchObject({
      status: 'blocked',
      code: 'read_only',
      executed: false,
    });
    expect(world.model.toolMessages().get('r')?.status).not.toBe('blocked');
    expect((await readOnly(keys.liWei, { readOnly: false })).status).toBe(200);
    const free = await ask();
    await vote(free, keys.liWei);
    expect(
      (
        await world.gate.call('POST', `/v1/confirmations/${free.id}/claim`, {
          key: keys.agent,
          body: { args: free.args },
        })
      ).status,
    ).toBe(200);
  });

  it('limits the calls of a connector and tells the model when to try again', async () => {
    world.model.script = [{ calls: [1, 2, 3].map((n) => call(`c${n}`, 'oa__note', { n })) }, { say: 'ok' }];
    const run = await world.gate.call<{ run: Run }>('POST', '/v1/runs', {
      key: keys.agent,
      body: { agent: 'helper', input: 'x' },
    });
    await world.gate.run(run.body.run.id, keys.agent, '?wait=20s');
    const blocked = [...world.model.toolMessages().values()].filter(
      (message) => message.status === 'blocked',
    );
    expect(blocked).toMatchObject([
      { code: 'rate_limited', retryable: true, retryAfter: expect.anything(), executed: false },
    ]);
  });

  it('keeps secrets out of its log', async () => {
    const secrets = [
      ...Object.values(keys),
      world.slack.botToken,
      world.slack.signingSecret,
      world.feishu.appSecret,
      world.feishu.encryptKey,
      world.feishu.verificationToken,
      'model-key',
      'oa-token',
      't-token',
    ];
    for (const secret of secrets) expect(world.gate.log.includes(secret), secret).toBe(false);
    for (const line of world.gate.log.trim().split('\n')) expect(() => JSON.parse(line), line).not.toThrow();
  });

  it('stops in order with 0, and goes on after a restart and after a kill where it was', async () => {
    const open = await ask('bank__transfer', { ...small, amount: '60000' });
    const ts = await world.gate.card(open.id, 'pay-slack', keys.liWei);
    await world.slack.tap(ts, 'approve', accounts.liWei.slack);
    const waiting = world.gate.confirmation(open.id, keys.agent, '?wait=30s').catch(() => undefined);
    expect(await world.gate.end()).toBe(0);
    await waiting;
    await restart();
    expect((await world.gate.confirmation(open.id, keys.liWei)).body).toMatchObject({
      ...frozen(open),
      votes: [{ person: { id: 'li.wei' } }],
    });
    expect((await world.slack.tap(ts, 'approve', accounts.wangFang.slack)).status).toBe(200);
    await world.gate.end('SIGKILL');
    await restart();
    expect((await world.gate.confirmation(open.id, keys.liWei)).body.status).toBe('approved');
    await until(
      () =>
        !world.slack.button(ts, 'approve') && texts(world.slack.message(ts).blocks).join().includes('王芳'),
      { deadlineMs: 90_000 },
    );
    const verify = await world.gate.call('GET', '/v1/audit/verify', { key: keys.auditor });
    expect(verify.body).toMatchObject({ ok: true });
  });

  it('finds a row of the log that somebody changed as superuser, by API and by command', async () => {
    if (database !== 'postgres') {
      const refused = await runCommand(['audit', 'verify', '--config', world.gate.configFile]);
      expect([0, 1]).toContain(refused.code);
      return;
    }
    expect((await runCommand(['audit', 'verify', '--config', world.gate.configFile])).code).toBe(0);
    const client = new pg.Client({ connectionString: world.databaseUrl });
    await client.connect();
    await expect(client.query(`DELETE FROM audit_events`)).rejects.toThrow();
    await expect(client.query(`TRUNCATE audit_events CASCADE`)).rejects.toThrow();
    await client.query(`SET session_replication_role = replica`);
    await client.query(`DELETE FROM audit_events WHERE seq = 3`);
    await client.end();
    const verify = await world.gate.call<{ ok: boolean; firstBad: { seq: number } }>(
      'GET',
      '/v1/audit/verify',
      { key: keys.auditor },
    );
    expect([verify.status, verify.body]).toMatchObject([
      200,
      { ok: false, firstBad: { seq: expect.any(Number), reason: expect.any(String) } },
    ]);
    expect((await runCommand(['audit', 'verify', '--config', world.gate.configFile])).code).toBe(1);
  });

  async function restart() {
    const config = JSON.parse(await readFile(world.gate.configFile, 'utf8'));
    config.listen.port = Number(new URL(world.gate.url).port);
    await writeFile(world.gate.configFile, JSON.stringify(config));
    await world.gate.launch();
  }
});

function frozen({ id, argsDigest, verificationCode, decideBy, createdAt, policy }: Confirmation) {
  return { id, argsDigest, verificationCode, decideBy, createdAt, policy, status: 'pending' };
}
