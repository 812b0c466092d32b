import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit/audit-event.ts';
import type { RunningService } from '../../src/main.ts';
import { signCallback as signFeishu } from '../../src/standin/feishu/sign-callback.ts';
import { ask, type ConfirmationJson, call, read } from '../e2e/api.ts';
import { KEYS, type Platforms, startPlatforms, yamlFor } from '../e2e/platforms.ts';
import { startServiceInProcess } from '../e2e/service-in-process.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

/** Case 148, and what else people write under a card. `CR` stands for the request's own id. */
const TEXTS = [
  ...['approve', 'approve CR', '/approve CR', 'countersign.approve', '{"action":"approve","request":"CR"}'],
  ...[
    '同意',
    '批准',
    '同意吗',
    '不同意',
    'ok',
    'ok?',
    'LGTM',
    '👍',
    '👍🏽',
    'disallow',
    'cannot approve yet',
  ],
];

/** The whole service between both platforms, as the chat sees it. */
describe('what is no consent', () => {
  let platforms: Platforms;
  let dataDir: string;
  let service: RunningService;

  beforeAll(async () => {
    platforms = await startPlatforms();
    dataDir = await mkdtemp(join(tmpdir(), 'countersign-consent-'));
    service = await startServiceInProcess(
      yamlFor({ platforms, databaseUrl: await newPostgresDatabase(), dataDir }),
    );
    platforms.serviceUrl = service.url;
  });
  afterAll(async () => {
    await service?.stop();
    await platforms?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const shown = async () => cardsOf((await ask(service.url)).id);
  async function cardsOf(id: string) {
    const deliveries = await until(async () => {
      const request = await read(service.url, id);
      return request.deliveries.every(({ state }) => state === 'sent') ? request.deliveries : null;
    });
    const messageOf = (channel: string) =>
      deliveries.find((delivery) => delivery.channel === channel)?.messageIds[0] ?? '';
    return { id, ts: messageOf('pay-slack'), messageId: messageOf('pay-feishu') };
  }
  const eventsOf = async (id: string, kind: string) =>
    (
      await call<{ items: AuditEvent[] }>(
        service.url,
        'GET',
        `/v1/audit/events?confirmation=${id}&kind=${kind}`,
        { key: KEYS.auditor },
      )
    ).body.items;
  const approveIn = (ts: string, user: string) =>
    platforms.slack.tap({ user, ts, actionId: 'countersign.approve' });

  /** What Slack sends for a message, were the app subscribed to them, and for a command of that text. */
  const slackTexts = (text: string, ts: string, user: string) => [
    {
      type: 'event_callback',
      team_id: 'T0ACME',
      api_app_id: 'A0COUNTER',
      event: { type: 'message', channel: 'C0FINANCE', user, text, ts: '1796016699.000100', thread_ts: ts },
    },
    {
      type: 'message_action',
      callback_id: text,
      team: { id: 'T0ACME' },
      user: { id: user },
      api_app_id: 'A0COUNTER',
      channel: { id: 'C0FINANCE' },
      message: { ts, text },
    },
    {
      type: 'block_actions',
      user: { id: user, team_id: 'T0ACME' },
      team: { id: 'T0ACME' },
      api_app_id: 'A0COUNTER',
      container: { type: 'message', message_ts: ts, channel_id: 'C0FINANCE' },
      channel: { id: 'C0FINANCE' },
      message: { ts },
      actions: [
        { action_id: 'somebody-elses-input', type: 'plain_text_input', value: text, action_ts: '1.2' },
      ],
    },
  ];
  const feishuText = (text: string, root: string, openId: string) => ({
    schema: '2.0',
    header: {
      event_id: crypto.randomUUID(),
      token: 'feishu-verification-token',
      event_type: 'im.message.receive_v1',
      tenant_key: '2f0acme',
      app_id: 'cli_a1b2c3d4e5f60718',
    },
    event: {
      sender: { sender_id: { open_id: openId }, sender_type: 'user', tenant_key: '2f0acme' },
      message: {
        message_id: 'om_reply',
        root_id: root,
        chat_id: 'oc_finance',
        message_type: 'text',
        content: JSON.stringify({ text }),
      },
    },
  });

  it.each(TEXTS)('148: %j as a message, a reply or a command changes nothing', async (pattern) => {
    const { id, ts, messageId } = await shown();
    const text = pattern.replace('CR', id);
    for (const payload of slackTexts(text, ts, 'U0LIWEI'))
      expect((await platforms.slack.deliver(payload)).status).toBe(200);
    const { headers, body } = signFeishu({
      payload: feishuText(text, messageId, 'ou_liwei'),
      encryptKey: 'feishu-encrypt-key',
      nowMs: Date.now(),
    });
    const answered = await fetch(`${service.url}/channels/pay-feishu/callback`, {
      method: 'POST',
      headers: { ...headers },
      body: new Uint8Array(body),
    });
    expect(answered.status).toBe(200);
    expect(await read(service.url, id)).toMatchObject({ status: 'pending', votes: [] });
    expect(await eventsOf(id, 'vote.cast')).toEqual([]);
    await call(service.url, 'POST', `/v1/confirmations/${id}/cancel`, { body: {} });
  });

  it('149: what people write between the call and its card is nothing to it, and the card comes as usual', async () => {
    const { id } = await ask(service.url);
    for (const payload of slackTexts(`approve ${id}`, '1796016600.000100', 'U0LIWEI'))
      expect((await platforms.slack.deliver(payload)).status).toBe(200);
    const { ts } = await cardsOf(id);
    expect((await read(service.url, id)).status).toBe('pending');
    await approveIn(ts, 'U0LIWEI');
    expect((await read(service.url, id)).status).toBe('approved');
  });

  it('145, 146: an approval is for one call: the same again, and a larger one, ask again', async () => {
    const { id, ts } = await shown();
    await approveIn(ts, 'U0LIWEI');
    expect((await read(service.url, id)).status).toBe('approved');
    const again = await ask(service.url);
    expect(again.id).not.toBe(id);
    expect(again.status).toBe('pending');
    const larger = await call<{ decision: string; confirmation: ConfirmationJson }>(
      service.url,
      'POST',
      '/v1/confirmations',
      {
        body: {
          tool: 'bank__transfer',
          args: { amount: '10000.00', currency: 'USD', payee: 'Acme Paper' },
          agent: 'procurement',
          requester: 'zhao.min',
        },
      },
    );
    expect(larger).toMatchObject({ status: 201, body: { decision: 'pending' } });
    // Nor does the approval carry over at the claim.
    const other = await call<{ code: string }>(service.url, 'POST', `/v1/confirmations/${id}/claim`, {
      body: { args: larger.body.confirmation.args },
    });
    expect(other).toMatchObject({ status: 409, body: { code: 'args_changed' } });
  });

  it('041: the identical callback three times is one decision and three times 200', async () => {
    const { id, ts } = await shown();
    const answers = [await approveIn(ts, 'U0LIWEI')];
    for (let time = 0; time < 2; time += 1) answers.push(await platforms.slack.replay());
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await until(async () => (await eventsOf(id, 'confirmation.decided')).length > 0);
    expect(await eventsOf(id, 'confirmation.decided')).toHaveLength(1);
    expect(await eventsOf(id, 'vote.cast')).toHaveLength(1);
    expect(await eventsOf(id, 'vote.refused')).toEqual([]);
  });

  it('040: while the card cannot be changed, the decision stands and a second tap is told so', async () => {
    const { id, ts, messageId } = await shown();
    platforms.slack.faults.next('chat.update', '500');
    const press = () =>
      platforms.feishu.tap({
        openId: 'ou_wang',
        messageId,
        element: (button) => JSON.stringify(button).includes('approve'),
      });
    expect(await press()).toMatchObject({ kind: 'toast', type: 'success' });
    expect((await read(service.url, id)).status).toBe('approved');
    await approveIn(ts, 'U0LIWEI');
    await until(() => platforms.slack.ephemeralsOf('U0LIWEI').some(({ text }) => text.includes('王芳')), {
      what: 'the person is told who decided',
    });
    expect((await read(service.url, id)).votes).toHaveLength(1);
    await until(async () => (await eventsOf(id, 'vote.refused')).length > 0);
    expect(await eventsOf(id, 'vote.refused')).toMatchObject([
      { actor: { id: 'li.wei' }, data: { code: 'already_decided', channel: 'pay-slack' } },
    ]);
  });

  it('052: a chat that never answers a change of a card, and then breaks it off, harms neither the decision nor the next request', async () => {
    const { id, ts, messageId } = await shown();
    for (const kind of ['silence', 'cut'] as const)
      platforms.feishu.faults.next('patch', { kind, carriedOut: false });
    await approveIn(ts, 'U0LIWEI');
    expect((await read(service.url, id)).status).toBe('approved');
    const other = await shown();
    await approveIn(other.ts, 'U0LIWEI');
    expect((await read(service.url, other.id)).status).toBe('approved');
    const cardIsOpen = () =>
      JSON.stringify(
        platforms.feishu.messages().find((message) => message.messageId === messageId)?.card,
      ).includes('"callback"');
    await until(() => !cardIsOpen(), { what: 'the card shows the decision', deadlineMs: 20_000 });
  });
});
