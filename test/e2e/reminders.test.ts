import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit/audit-event.ts';
import type { RunningService } from '../../src/main.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { ask, call, PAYMENT, read } from './api.ts';
import { KEYS, type Platforms, startPlatforms, yamlFor } from './platforms.ts';
import { startServiceInProcess } from './service-in-process.ts';

/** 李伟 alone is asked; 王芳 gets a seat with the escalation. */
const POLICIES = `policies:
  - { id: reminded, tools: ["bank__transfer"], approvers: ["person:li.wei"], remindAfter: 1s }
  - { id: escalated, tools: ["bank__refund"], approvers: ["person:li.wei"], escalateAfter: { after: 1s, to: ["person:wang.fang"] } }
`;

describe('a request that nobody answers, in Slack and Feishu', () => {
  let platforms: Platforms;
  let dataDir: string;
  let service: RunningService;

  beforeAll(async () => {
    platforms = await startPlatforms();
    dataDir = await mkdtemp(join(tmpdir(), 'countersign-reminders-'));
    const yaml = yamlFor({ platforms, databaseUrl: await newPostgresDatabase(), dataDir });
    service = await startServiceInProcess(yaml.replace(/^policies:\n(?: {2}.*\n)+/m, POLICIES));
    platforms.serviceUrl = service.url;
  });
  afterAll(async () => {
    await service?.stop();
    await platforms?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const sent = (id: string) =>
    until(async () => {
      const { deliveries } = await read(service.url, id);
      return deliveries.every(({ state }) => state === 'sent') ? deliveries : null;
    });
  const messageIdIn = async (id: string, channel: string): Promise<string> =>
    (await sent(id)).find((delivery) => delivery.channel === channel && delivery.person === null)
      ?.messageIds[0] ?? '';
  /** The notes under the cards of a request, one a chat, once both are there. */
  async function notesOf(id: string) {
    const ts = await messageIdIn(id, 'pay-slack');
    const messageId = await messageIdIn(id, 'pay-feishu');
    const underSlack = () => platforms.slack.messages().filter(({ threadTs }) => threadTs === ts);
    const underFeishu = () => platforms.feishu.messages().filter(({ replyTo }) => replyTo === messageId);
    await until(() => underSlack().length > 0 && underFeishu().length > 0, {
      what: 'a note under each card',
    });
    return { slack: underSlack(), feishu: underFeishu() };
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

  it('reminds once under each card, which still decides, and then says there that the call is done', async () => {
    const { id } = await ask(service.url);
    const notes = await notesOf(id);
    for (const note of [...notes.slack, ...notes.feishu]) {
      // It asks nobody anything by itself: whatever is tapped is tapped on the card.
      expect(JSON.stringify(note)).not.toMatch(/countersign\.approve|"callback"/);
    }
    await until(async () => (await eventsOf(id, 'request.reminded')).length === 1);
    const tapped = await platforms.feishu.tap({
      openId: 'ou_liwei',
      messageId: await messageIdIn(id, 'pay-feishu'),
      element: (button) => JSON.stringify(button).includes('approve'),
    });
    expect(tapped).toMatchObject({ kind: 'toast', type: 'success' });
    expect((await read(service.url, id)).status).toBe('approved');
    const after = await notesOf(id);
    expect([after.slack.length, after.feishu.length]).toEqual([1, 1]);

    const act = (what: string, body: unknown) =>
      call(service.url, 'POST', `/v1/confirmations/${id}/${what}`, { body });
    expect((await act('claim', { args: PAYMENT })).status).toBe(200);
    expect((await act('outcome', { status: 'succeeded' })).status).toBe(200);
    const { verificationCode } = await read(service.url, id);
    const done = new RegExp(
      `✅ 执行成功，.*（代理报告）。bank__transfer 68,000\\.00 CNY，核对码 ${verificationCode}。`,
    );
    await until(
      async () => {
        const { slack, feishu } = await notesOf(id);
        return slack.length === 2 && feishu.length === 2;
      },
      { what: 'a second note under each card' },
    );
    const results = await notesOf(id);
    for (const note of [results.slack[1], results.feishu[1]]) expect(JSON.stringify(note)).toMatch(done);
    // Nobody has to act on it: Slack keeps it in the thread.
    expect(results.slack.map(({ broadcast }) => broadcast)).toEqual([true, false]);
  });

  it('gives further people a seat, says so in both chats, and lowers nothing', async () => {
    const { id } = await ask(service.url, 'bank__refund');
    const ts = await messageIdIn(id, 'pay-slack');
    const before = await read(service.url, id);
    expect(before).toMatchObject({ status: 'pending', policy: { quorum: 1 } });
    const notes = await notesOf(id);
    for (const note of [...notes.slack, ...notes.feishu]) expect(JSON.stringify(note)).toContain('王芳');
    // She may not sit in these chats, so the card comes to her.
    await until(
      () =>
        JSON.stringify(platforms.slack.directMessagesOf('U0WANG')).includes(id) &&
        JSON.stringify(platforms.feishu.directMessagesOf('ou_wang')).includes(id),
      { what: 'a card for 王芳 alone' },
    );
    expect(platforms.slack.directMessagesOf('U0LIWEI')).toEqual([]);
    // The cards themselves name her as well.
    await until(() => {
      const card = platforms.slack.messages().find((message) => message.ts === ts);
      return JSON.stringify(card?.blocks).includes('王芳');
    });
    expect(await read(service.url, id)).toMatchObject({ status: 'pending', policy: { quorum: 1 } });
    await until(async () => (await eventsOf(id, 'request.escalated')).length === 1);
    const [escalated] = await eventsOf(id, 'request.escalated');
    expect(escalated?.data).toMatchObject({ quorum: 1 });

    await platforms.slack.tap({ user: 'U0WANG', ts, actionId: 'countersign.approve' });
    const decided = await read(service.url, id);
    expect(decided.status).toBe('approved');
    expect(decided.votes).toMatchObject([{ person: { id: 'wang.fang' } }]);
  });
});
