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

const POLICIES = `policies:
  - { id: direct, tools: ["bank__transfer"], approvers: ["group:finance"], quorum: 2, notify: direct }
  - { id: escalated, tools: ["bank__refund"], approvers: ["person:li.wei"], channels: [pay-slack], notify: both, remindAfter: 1s, escalateAfter: { after: 1s, to: ["person:wang.fang"] } }
  - { id: elsewhere, tools: ["bank__elsewhere"], approvers: ["person:sun.li"], notify: direct }
  - { id: rerouted, tools: ["bank__rerouted"], approvers: ["group:finance"], channels: [pay-feishu], fallback: [pay-slack] }
  - { id: slow, tools: ["bank__slow"], approvers: ["group:finance"], channels: [pay-feishu], fallback: [pay-slack], fallbackAfter: 1s }
`;
/** Has an account, but in a team that no channel is in. */
const SUN_LI = '  - { id: sun.li, name: 孙丽, slack: { team: T0OTHER, user: U0SUN } }\n';
const NOT_IN_GROUP = {
  kind: 'answer',
  status: 400,
  body: { code: 230002, msg: 'The bot can not be outside the group.' },
} as const;

interface Delivery {
  readonly channel: string;
  readonly person: { readonly id: string } | null;
  readonly state: string;
  readonly messageIds: readonly string[];
}

describe('asking people directly, and elsewhere where nobody can be reached', () => {
  let platforms: Platforms;
  let dataDir: string;
  let service: RunningService;

  beforeAll(async () => {
    platforms = await startPlatforms();
    dataDir = await mkdtemp(join(tmpdir(), 'countersign-reach-'));
    const yaml = yamlFor({ platforms, databaseUrl: await newPostgresDatabase(), dataDir });
    service = await startServiceInProcess(
      yaml.replace(/^policies:\n(?: {2}.*\n)+/m, POLICIES).replace('channels:\n', `${SUN_LI}channels:\n`),
    );
    platforms.serviceUrl = service.url;
  });
  afterAll(async () => {
    await service?.stop();
    await platforms?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const deliveriesOf = async (id: string) =>
    (await read(service.url, id)).deliveries as unknown as readonly Delivery[];
  const places = (deliveries: readonly Delivery[]) =>
    deliveries.map(({ channel, person, state }) => `${channel} ${person?.id ?? 'chat'} ${state}`).sort();
  const reads = (id: string, wanted: readonly string[]) =>
    until(async () => JSON.stringify(places(await deliveriesOf(id))) === JSON.stringify(wanted), {
      what: wanted.join(', '),
    });
  const eventsOf = async (id: string, kind: string) =>
    (
      await call<{ items: AuditEvent[] }>(
        service.url,
        'GET',
        `/v1/audit/events?confirmation=${id}&kind=${kind}`,
        { key: KEYS.auditor },
      )
    ).body.items;
  const messageOf = async (id: string, channel: string, person: string | null) =>
    (await deliveriesOf(id)).find((one) => one.channel === channel && (one.person?.id ?? null) === person)
      ?.messageIds[0] ?? '';
  const slackDirect = (user: string, ts: string) =>
    JSON.stringify(platforms.slack.directMessagesOf(user).find((one) => one.ts === ts)?.blocks ?? '');
  const feishuDirect = (openId: string, messageId: string) =>
    JSON.stringify(
      platforms.feishu.directMessagesOf(openId).find((one) => one.messageId === messageId)?.card ?? '',
    );

  it('writes to each approver on each platform, counts their taps, and brings every card to its end', async () => {
    const { id } = await ask(service.url);
    await reads(id, [
      'pay-feishu li.wei sent',
      'pay-feishu wang.fang sent',
      'pay-slack li.wei sent',
      'pay-slack wang.fang sent',
    ]);
    expect([...platforms.slack.messages(), ...platforms.feishu.messages()]).toEqual([]);
    const [liWei, wangFang] = await Promise.all([
      messageOf(id, 'pay-slack', 'li.wei'),
      messageOf(id, 'pay-feishu', 'wang.fang'),
    ]);
    expect(slackDirect('U0LIWEI', liWei)).toContain(id);

    // Somebody else's card, which no client would show them.
    await platforms.slack.tap({ user: 'U0WANG', ts: liWei, actionId: 'countersign.approve' });
    await until(async () => (await eventsOf(id, 'callback.refused')).length === 1);
    expect((await eventsOf(id, 'callback.refused'))[0]?.data).toMatchObject({ code: 'other_recipient' });
    expect((await read(service.url, id)).votes).toEqual([]);

    await platforms.slack.tap({ user: 'U0LIWEI', ts: liWei, actionId: 'countersign.approve' });
    const tapped = await platforms.feishu.tap({
      openId: 'ou_wang',
      messageId: wangFang,
      element: (button) => JSON.stringify(button).includes('approve'),
    });
    expect(tapped).toMatchObject({ kind: 'toast', type: 'success' });
    expect(await read(service.url, id)).toMatchObject({ status: 'approved' });
    const all: readonly [string, string][] = [
      ['pay-slack', 'U0LIWEI'],
      ['pay-slack', 'U0WANG'],
      ['pay-feishu', 'ou_liwei'],
      ['pay-feishu', 'ou_wang'],
    ];
    for (const [channel, account] of all) {
      const person = /li/i.test(account) ? 'li.wei' : 'wang.fang';
      const message = await messageOf(id, channel, person);
      await until(
        () => {
          const shown =
            channel === 'pay-slack' ? slackDirect(account, message) : feishuDirect(account, message);
          return (
            shown.includes('王芳') && !shown.includes('countersign.approve') && !shown.includes('"callback"')
          );
        },
        { what: `the card of ${account} is closed` },
      );
    }
    // The record says of each card whose it is, and where.
    const delivered = await until(async () => {
      const events = (await eventsOf(id, 'card.delivered')).map(
        ({ data }) => `${data.channel} ${data.writtenTo}`,
      );
      return new Set(events).size === all.length && [...new Set(events)].sort();
    });
    expect(delivered).toEqual([
      'pay-feishu li.wei',
      'pay-feishu wang.fang',
      'pay-slack li.wei',
      'pay-slack wang.fang',
    ]);
    // An agent is not told whom it could talk into it.
    expect(JSON.stringify(await read(service.url, id, KEYS.agent))).not.toContain('li.wei');
  });

  it('finds a direct message again whose sending got no answer', async () => {
    platforms.slack.faults.next('chat.postMessage', 'reset-after-accept');
    platforms.feishu.faults.next('create', { kind: 'cut', carriedOut: true });
    const before = [
      ...platforms.slack.directMessagesOf('U0LIWEI'),
      ...platforms.slack.directMessagesOf('U0WANG'),
    ];
    const { id } = await ask(service.url);
    await reads(id, [
      'pay-feishu li.wei sent',
      'pay-feishu wang.fang sent',
      'pay-slack li.wei sent',
      'pay-slack wang.fang sent',
    ]);
    const after = [
      ...platforms.slack.directMessagesOf('U0LIWEI'),
      ...platforms.slack.directMessagesOf('U0WANG'),
    ];
    expect(after.length - before.length).toBe(2);
    expect(platforms.feishu.directMessagesOf('ou_liwei')).toHaveLength(2);
  });

  it('writes to whom escalation adds, and says under each card that it is still open, and later that the call failed', async () => {
    const { id } = await ask(service.url, 'bank__refund');
    await reads(id, ['pay-slack chat sent', 'pay-slack li.wei sent', 'pay-slack wang.fang sent']);
    const ts = await messageOf(id, 'pay-slack', 'li.wei');
    await until(
      () => platforms.slack.directMessagesOf('U0LIWEI').filter(({ threadTs }) => threadTs === ts).length > 0,
      { what: 'a note under the direct message' },
    );
    await platforms.slack.tap({
      user: 'U0WANG',
      ts: await messageOf(id, 'pay-slack', 'wang.fang'),
      actionId: 'countersign.approve',
    });
    expect((await read(service.url, id)).status).toBe('approved');

    const act = (what: string, body: unknown) =>
      call(service.url, 'POST', `/v1/confirmations/${id}/${what}`, { body });
    expect((await act('claim', { args: PAYMENT })).status).toBe(200);
    expect((await act('outcome', { status: 'failed', detail: 'no funds' })).status).toBe(200);
    await until(
      () =>
        platforms.slack
          .directMessagesOf('U0LIWEI')
          .some(({ threadTs, text }) => threadTs === ts && text.includes('执行失败')),
      { what: 'a note that the call failed' },
    );
  });

  it('ends as undeliverable at once where it would write to nobody', async () => {
    const { body } = await call<{ decision: string; confirmation: { id: string } }>(
      service.url,
      'POST',
      '/v1/confirmations',
      { body: { tool: 'bank__elsewhere', args: PAYMENT, agent: 'procurement', requester: 'zhao.min' } },
    );
    expect(body).toMatchObject({ decision: 'deny', error: { code: 'undeliverable' } });
    expect(await read(service.url, body.confirmation.id)).toMatchObject({
      status: 'undeliverable',
      decision: { code: 'undeliverable', reason: 'nobody_reachable' },
      deliveries: [],
    });
  });

  it('asks the fallback channel once the others refused for good', async () => {
    platforms.feishu.faults.next('create', NOT_IN_GROUP);
    const { id } = await ask(service.url, 'bank__rerouted');
    await reads(id, ['pay-feishu chat failed', 'pay-slack chat sent']);
    // Lists show events once they are numbered, which is a moment later.
    const rerouted = await until(async () => {
      const events = await eventsOf(id, 'request.rerouted');
      return events.length > 0 && events;
    });
    expect(rerouted).toMatchObject([{ data: { from: ['pay-feishu'], to: ['pay-slack'] } }]);
    const ts = await messageOf(id, 'pay-slack', null);
    await platforms.slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    expect((await read(service.url, id)).status).toBe('approved');
  });

  it('is undeliverable only once the fallback refused as well', async () => {
    platforms.feishu.faults.next('create', NOT_IN_GROUP);
    platforms.slack.faults.next('chat.postMessage', 'channel_not_found');
    const { id } = await ask(service.url, 'bank__rerouted');
    await until(async () => (await read(service.url, id)).status === 'undeliverable');
    expect(await read(service.url, id)).toMatchObject({ decision: { reason: 'channels_refused' } });
    expect(places(await deliveriesOf(id))).toEqual(['pay-feishu chat failed', 'pay-slack chat failed']);
    const page = await fetch(`${service.url}/requests/${id}`, {
      headers: { authorization: `Bearer ${KEYS.liWei}` },
    }).then((response) => response.text());
    expect(page).toContain('channels_refused');
    expect(page).toContain('在该频道中输入 /invite');
    await until(async () => (await eventsOf(id, 'request.rerouted')).length === 1);
  });

  it('asks the fallback channel after fallbackAfter where the first one keeps everybody waiting', async () => {
    const busy = {
      ...NOT_IN_GROUP,
      status: 429,
      body: { code: 99991400, msg: 'request trigger frequency limit' },
    };
    platforms.feishu.faults.next('create', ...Array.from({ length: 30 }, () => busy));
    const { id } = await ask(service.url, 'bank__slow');
    await reads(id, ['pay-feishu chat queued', 'pay-slack chat sent']);
    await until(async () => (await eventsOf(id, 'request.rerouted')).length === 1);
  });
});
