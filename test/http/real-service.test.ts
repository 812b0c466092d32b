import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { createLogger } from '../../src/http/logger.ts';
import { personId } from '../../src/ids.ts';
import { type RunningService, secretsOf, startService } from '../../src/main.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { as, CONFIG, PEOPLE } from './http-fixture.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };

/** The service as it is put together for real, asked over its own listener. */
describe.each([
  { name: 'PostgreSQL', url: newPostgresDatabase },
  { name: 'the embedded database', url: async () => null },
])('the whole service, on $name', ({ url }) => {
  let folder: string;
  let service: RunningService;
  const logLines: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-http-'));
    const config: Config = {
      ...CONFIG,
      database: await url(),
      dataDir: folder,
      policies: [
        {
          id: 'payments',
          tools: ['bank__pay'],
          when: null,
          named: [],
          approvers: ['li.wei', 'wang.fang'].map(personId),
          quorum: 1,
          allowSelfApproval: false,
          channels: [],
          notify: 'group',
          fallback: null,
          decideWithinMs: 60_000,
          executeWithinMs: 60_000,
          outcomeWithinMs: 60_000,
          deliveryTimeoutMs: 60_000,
          reason: 'never',
          remindAfterMs: null,
          escalation: null,
          coolOffMs: 0,
          excluded: null,
        },
      ],
    };
    const logger = createLogger({
      level: 'debug',
      secrets: secretsOf(config),
      destination: { write: (line) => void logLines.push(line) },
    });
    service = await startService({ config, logger });
  });

  afterAll(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function call(caller: string, method: string, path: string, body?: object, headers = {}) {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: { ...as(caller), ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  it('takes a payment from the question to its outcome, and has all of it on the record', async () => {
    const question = { tool: 'bank__pay', args: ARGS, agent: 'procurement', requester: 'zhao.min' };
    const header = { 'idempotency-key': 'order-7' };
    const asked = await call('procurement', 'POST', '/v1/confirmations', question, header);
    expect(asked).toMatchObject({ status: 201, body: { decision: 'pending' } });
    const { id, argsDigest } = asked.body.confirmation as { id: string; argsDigest: string };
    const again = await call('procurement', 'POST', '/v1/confirmations', question, header);
    expect(again).toMatchObject({ status: 200, body: { confirmation: { id } } });

    const path = `/v1/confirmations/${id}`;
    const waiting = call('procurement', 'GET', `${path}?wait=30s`);
    const voted = await call('wang.fang', 'POST', `${path}/votes`, { verdict: 'approve', argsDigest });
    expect(voted).toMatchObject({ status: 200, body: { status: 'approved', votes: [{ channel: 'api' }] } });
    expect(await waiting).toMatchObject({ status: 200, body: { execution: { status: 'unclaimed' } } });
    const claimed = await call('procurement', 'POST', `${path}/claim`, { args: ARGS });
    expect(claimed).toMatchObject({ status: 200, body: { claimed: true } });
    const reported = await call('procurement', 'POST', `${path}/outcome`, { status: 'succeeded' });
    expect(reported).toMatchObject({ status: 200, body: { execution: { status: 'succeeded' } } });

    const kinds = await until(async () => {
      const { body } = await call('audit', 'GET', `/v1/audit/events?confirmation=${id}`);
      const items = body.items as { kind: string }[];
      return items.length >= 5 ? items.map(({ kind }) => kind) : null;
    });
    expect(kinds).toEqual([
      'confirmation.requested',
      'vote.cast',
      'confirmation.decided',
      'grant.claimed',
      'outcome.recorded',
    ]);
    const verified = await call('audit', 'GET', '/v1/audit/verify');
    expect(verified).toMatchObject({ status: 200, body: { ok: true, head: { hash: expect.any(String) } } });
    const exported = await fetch(`${service.url}/v1/audit/export?confirmation=${id}`, {
      headers: as('audit'),
    });
    expect((await exported.text()).trimEnd().split('\n')).toHaveLength(5);
  });

  it('lets a call through that no rule asks about, and knows no tool that nobody declared', async () => {
    const free = { tool: 'bank__balance', args: {}, agent: 'procurement' };
    expect(await call('procurement', 'POST', '/v1/confirmations', free)).toMatchObject({
      status: 200,
      body: { decision: 'allow', args: {}, argsDigest: expect.stringMatching(/^sha256:/) },
    });
    expect(await call('procurement', 'POST', '/v1/confirmations', { ...free, tool: 'shell' })).toMatchObject({
      status: 422,
      body: { code: 'unknown_tool' },
    });
  });

  it('lists for a person what concerns them', async () => {
    const own = await call('zhao.min', 'GET', '/v1/confirmations?tool=bank__pay');
    expect(own.body.items).toHaveLength(1);
    expect((await call('sun.li', 'GET', '/v1/confirmations')).body.items).toEqual([]);
  });

  it('turns the switch, on the record', async () => {
    const state = await call('li.wei', 'PUT', '/v1/read-only', { scope: 'oa', readOnly: true });
    expect(state).toEqual({ status: 200, body: { organization: false, connectors: ['oa'] } });
    const event = await until(async () => {
      const { body } = await call('audit', 'GET', '/v1/audit/events?kind=read_only.changed');
      return (body.items as object[])[0];
    });
    expect(event).toMatchObject({ actor: { type: 'person', id: 'li.wei' } });
  });

  it('shows the request to a person who signs in with their own key', async () => {
    const { body } = await call('audit', 'GET', '/v1/confirmations?tool=bank__pay');
    const [{ id }] = body.items as [{ readonly id: string }];
    const form = await fetch(`${service.url}/requests/${id}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: service.url },
      body: new URLSearchParams({ key: PEOPLE.find((one) => one.id === 'wang.fang')?.consoleKey ?? '' }),
    });
    expect(form.status).toBe(303);
    const cookie = form.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await fetch(`${service.url}/requests/${id}`, { headers: { cookie } });
    expect(page.status).toBe(200);
    const text = await page.text();
    for (const shown of ['68000.00', 'Acme', '王芳', 'Outcome recorded']) expect(text).toContain(shown);
  });

  it('is ready, and has no key in its log', async () => {
    const ready = await fetch(`${service.url}/readyz`);
    expect(ready.status).toBe(200);
    expect(logLines.length).toBeGreaterThan(5);
    expect(logLines.join('')).not.toMatch(/api-key-of|person-key-of/);
  });
});
