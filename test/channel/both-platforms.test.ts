import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { feishuChannelKind } from '../../channels/feishu/index.ts';
import { slackChannelKind } from '../../channels/slack/index.ts';
import type { Channel } from '../../src/channel/channel.ts';
import { DeliveryWorker } from '../../src/channel/delivery-worker.ts';
import type { SettleAction } from '../../src/channel/inbound-event.ts';
import { systemClock } from '../../src/clock.ts';
import type { PersonConfig } from '../../src/config/config.ts';
import { createCardSource } from '../../src/confirmation/create-card-source.ts';
import { createTapHandler } from '../../src/confirmation/handle-tap.ts';
import { createRoster } from '../../src/confirmation/roster.ts';
import { endUnreached } from '../../src/confirmation/undeliverable.ts';
import type { Database } from '../../src/db/database.ts';
import { createDeliveryOutbox } from '../../src/db/delivery-outbox-store.ts';
import { createTapDeliveries, deliveriesOf } from '../../src/db/delivery-store.ts';
import { FreezeStore } from '../../src/db/freeze-store.ts';
import { createRefusalStore } from '../../src/db/refusal-store.ts';
import { agentId, type ConfirmationId, channelId, newInvocationId, newRunId } from '../../src/ids.ts';
import { type FeishuStandin, startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { type SlackStandin, startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';
import type { Verdict } from '../../src/verdict.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';
import { endOldAttempt } from '../support/old-attempt.ts';
import { until } from '../support/until.ts';
import { hurriedClock } from './delivery-harness.ts';

const logger = pino({ level: 'silent' });
const SLACK = { botToken: 'xoxb-1', signingSecret: 'slack-secret', team: 'T0', appId: 'A0', channel: 'C0' };
const FEISHU = {
  ...{ appId: 'cli_0', appSecret: 'app secret', encryptKey: 'encrypt key', verificationToken: 'token' },
  ...{ tenant: 't0', chat: 'oc_0' },
};
const PEOPLE = ['li.wei', 'wang.fang', 'zhao.min'].map((id): PersonConfig => {
  const name = id.replace('.', '').toUpperCase();
  return {
    id: person(id),
    name: id,
    active: true,
    groups: [],
    roles: [],
    consoleKey: null,
    away: null,
    identities: [
      { provider: 'slack', tenant: 'T0', ids: { user: `U0${name}` } },
      { provider: 'feishu', tenant: 't0', ids: { openId: `ou_${name}` } },
    ],
  };
});

/** The whole way of a card: core, worker, the real channels and their SDKs, both platforms, callbacks over HTTP. */
describe('a card in Slack and in Feishu', () => {
  let database: Database;
  let core: Core;
  let slack: SlackStandin;
  let feishu: FeishuStandin;
  let callbacks: Server;
  let channels: readonly Channel[];
  let worker: DeliveryWorker;

  beforeAll(async () => {
    database = await openPostgres();
    core = startCore(database);
    const handler = createTapHandler({
      confirmations: core.service,
      deliveries: createTapDeliveries(database),
      roster: createRoster(PEOPLE),
      refusals: createRefusalStore(database),
      clock: systemClock,
      logger,
      timeZone: 'Asia/Shanghai',
    });
    callbacks = createServer(async (request, response) => {
      const channel = channels.find(({ id }) => request.url === `/${id}`);
      const result = await channel?.receive({ headers: request.headers, body: await buffer(request) });
      if (!channel || result?.kind !== 'event' || result.event.type !== 'tap') {
        response.writeHead(401).end();
        return;
      }
      const { answer, afterwards } = channel.reply(result.event, await handler.handle(channel, result.event));
      response.writeHead(answer.status, { 'content-type': answer.contentType }).end(answer.body);
      await afterwards?.();
    });
    await new Promise<void>((resolve) => {
      callbacks.listen(0, '127.0.0.1', resolve);
    });
    const callbackUrl = (id: string) => () =>
      `http://127.0.0.1:${(callbacks.address() as AddressInfo).port}/${id}`;
    slack = await startSlackStandin({
      ...SLACK,
      users: PEOPLE.map(({ identities, name }) => ({ id: identities[0]?.ids.user ?? '', name })),
      callbackUrl: callbackUrl('pay-slack'),
    });
    feishu = await startFeishuStandin({
      ...FEISHU,
      users: PEOPLE.map(({ identities, name }) => ({
        openId: identities[1]?.ids.openId ?? '',
        unionId: `on_${name}`,
        name,
      })),
      callbackUrl: callbackUrl('pay-feishu'),
    });
    const common = { locale: 'en-US', clock: systemClock, logger } as const;
    channels = [
      slackChannelKind.create({
        ...common,
        id: channelId('pay-slack'),
        settings: slackChannelKind.settings.parse({ ...SLACK, apiUrl: slack.url }),
      }),
      feishuChannelKind.create({
        ...common,
        id: channelId('pay-feishu'),
        settings: feishuChannelKind.settings.parse({ ...FEISHU, domain: feishu.url }),
      }),
    ];
    for (const channel of channels) await channel.start();
    worker = new DeliveryWorker({
      outbox: createDeliveryOutbox(database),
      cards: createCardSource({
        confirmations: core.service,
        freezes: new FreezeStore(database),
        timeZone: 'Asia/Shanghai',
        publicUrl: 'https://gate.acme.example',
      }),
      channels,
      wakeUps: {
        onDelivery: (run) => database.notifier.subscribe('confirmation', run),
        onReconnect: (run) => database.notifier.onReconnect(run),
      },
      endUnreached: (found) => endUnreached(found, core),
      metrics: { delivered: () => {} },
      clock: hurriedClock,
      logger,
      random: () => 0.999,
    });
    worker.start();
  });
  afterAll(async () => {
    await worker.stop();
    for (const channel of channels) await channel.stop();
    await slack.stop();
    await feishu.stop();
    callbacks.closeAllConnections();
    await new Promise((resolve) => callbacks.close(resolve));
    core.stop();
    await database.close();
  });
  beforeEach(() => {
    core.policy = {
      ...POLICY,
      quorum: 2,
      reason: 'on-reject',
      channels: [channelId('pay-slack'), channelId('pay-feishu')],
    };
  });

  const slackCard = (id: ConfirmationId) =>
    slack.messages().filter(({ blocks }) => JSON.stringify(blocks).includes(`/requests/${id}`));
  const feishuCard = (id: ConfirmationId) =>
    feishu.messages().filter(({ card }) => JSON.stringify(card).includes(`/requests/${id}`));
  async function asked(): Promise<ConfirmationId> {
    const id = await core.pending({
      amount: '68000.00',
      currency: 'CNY',
      payee: '上海精工机械有限公司',
      memo: 'a_b*c',
    });
    await until(async () =>
      (await deliveriesOf(database.connection, [id])).get(id)?.every(({ state }) => state === 'sent'),
    );
    return id;
  }
  const tapInSlack = (id: ConfirmationId, user: string, verdict: Verdict) =>
    slack.tap({ user, ts: slackCard(id)[0]?.ts ?? '', actionId: `countersign.${verdict}` });
  const tapInFeishu = (id: ConfirmationId, openId: string, verdict: Verdict, reason = '') =>
    feishu.tap({
      openId,
      messageId: feishuCard(id)[0]?.messageId ?? '',
      element: ({ name, value }) => `${name ?? ''}${JSON.stringify(value)}`.includes(verdict),
      formValue: { reason },
    });
  const bothSay = (id: ConfirmationId, words: string) =>
    until(
      () =>
        [...slackCard(id).map(({ blocks }) => blocks), ...feishuCard(id).map(({ card }) => card)].every(
          (drawn) => JSON.stringify(drawn).includes(words),
        ),
      { what: `both cards say "${words}"` },
    );

  it('is approved by one person here and another there, and ends the same in both', async () => {
    const id = await asked();
    await bothSay(id, '68000.00');
    await bothSay(id, '0/2');
    const first = await tapInFeishu(id, 'ou_LIWEI', 'approve');
    expect(first).toMatchObject({ kind: 'toast', type: 'success' });
    await bothSay(id, '1/2 (li.wei ✓)');
    expect((await tapInSlack(id, 'U0WANGFANG', 'approve')).status).toBe(200);
    await bothSay(id, 'Approved, waiting to run');
    expect(slack.ephemeralsOf('U0WANGFANG').at(-1)?.text).toContain('Approved.');
    expect(feishu.buttons(feishuCard(id)[0]?.messageId ?? '').filter(({ url }) => url === null)).toEqual([]);
    expect(await core.service.get(id)).toMatchObject({
      status: 'approved',
      votes: [{ channel: 'pay-feishu' }, { channel: 'pay-slack' }],
    });
  });

  it('is rejected in Slack with a reason that both cards then show', async () => {
    const id = await asked();
    await tapInSlack(id, 'U0LIWEI', 'reject');
    await until(() => slack.modalOf('U0LIWEI'));
    expect(await core.service.get(id)).toMatchObject({ status: 'pending', votes: [] });
    await slack.submitModal({ user: 'U0LIWEI', reason: 'the contract says 60,000' });
    await bothSay(id, 'the contract says 60,000');
    expect(await core.service.get(id)).toMatchObject({ status: 'rejected' });
    // A client that has not redrawn the card yet still lets a late tap through.
    await tapInSlack(id, 'U0WANGFANG', 'approve');
    await until(() =>
      slack.ephemeralsOf('U0WANGFANG').at(-1)?.text.includes('Already rejected by li.wei at '),
    );
  });

  it('is rejected in Feishu with the reason of its form', async () => {
    const id = await asked();
    expect(await tapInFeishu(id, 'ou_LIWEI', 'reject', '')).not.toMatchObject({
      kind: 'toast',
      type: 'success',
    });
    expect((await core.service.get(id))?.status).toBe('pending');
    await tapInFeishu(id, 'ou_LIWEI', 'reject', 'no such order');
    await bothSay(id, 'no such order');
  });

  it('stands once in each chat, though the answer to the first send was lost', async () => {
    slack.faults.next('chat.postMessage', 'reset-after-accept');
    feishu.faults.next('create', { kind: 'cut', carriedOut: true });
    const id = await asked();
    expect(slackCard(id)).toHaveLength(1);
    expect(feishuCard(id)).toHaveLength(1);
    await core.service.cancel({ id, actor: { type: 'system' }, reason: null });
    await bothSay(id, 'Cancelled');
  });

  /** Approved, sent by one of our runs, and nobody knows what became of it. */
  async function unknown(): Promise<ConfirmationId> {
    core.policy = { ...core.policy, quorum: 1 };
    core.idempotent.add('bank__transfer');
    const run = newRunId();
    const invocationId = newInvocationId();
    const id = await core.pending(
      { amount: '68000.00', currency: 'CNY', payee: 'Acme' },
      { runId: run, metadata: { invocationId } },
    );
    // What is decided before a card is sent gets none.
    await until(() => slackCard(id).length > 0 && feishuCard(id).length > 0);
    const actor = { type: 'run', run, agent: agentId('procurement') } as const;
    const { service } = core;
    const by = { person: person('li.wei'), verdict: 'approve', argsDigest: null, reason: null } as const;
    await service.decide({ id, ...by, surface: { kind: 'api' } });
    await service.claim({ id, args: { amount: '68000.00', currency: 'CNY', payee: 'Acme' }, actor });
    await service.recordOutcome({ id, status: 'unknown', detail: 'HTTP 503', actor });
    await bothSay(id, 'Nobody knows whether this call went out');
    await bothSay(id, invocationId);
    await bothSay(id, 'Can be settled');
    for (const action of ['succeeded', 'failed', 'run_again'])
      expect(JSON.stringify([slackCard(id), feishuCard(id)])).not.toContain(`${action}.`);
    await endOldAttempt(database, id);
    await core.sweeper.sweep();
    await bothSay(id, 'It succeeded');
    await bothSay(id, 'Run again');
    return id;
  }
  const settleInSlack = async (id: ConfirmationId, user: string, action: SettleAction, detail: string) => {
    await slack.tap({ user, ts: slackCard(id)[0]?.ts ?? '', actionId: `countersign.${action}` });
    await until(() => slack.modalOf(user));
    return slack.submitModal({ user, reason: detail });
  };
  const settleInFeishu = (id: ConfirmationId, openId: string, action: SettleAction, detail: string) =>
    feishu.tap({
      openId,
      messageId: feishuCard(id)[0]?.messageId ?? '',
      element: ({ name }) => name?.startsWith(`${action}.`) ?? false,
      formValue: { reason: detail },
    });

  it('of an unknown outcome is settled in Slack by who says how they know, and both cards say who that was', async () => {
    const id = await unknown();
    await slack.tap({
      user: 'U0ZHAOMIN',
      ts: slackCard(id)[0]?.ts ?? '',
      actionId: 'countersign.succeeded',
    });
    await until(() => slack.ephemeralsOf('U0ZHAOMIN').at(-1)?.text.includes('your own request'));
    await settleInSlack(id, 'U0LIWEI', 'succeeded', 'statement of 30 November, line 4');
    await bothSay(id, 'statement of 30 November, line 4');
    await bothSay(id, 'Checked by');
    expect(await core.service.get(id)).toMatchObject({
      execution: { status: 'succeeded', source: 'settlement', settledBy: { id: 'li.wei' } },
    });
    // A client that has not redrawn the card yet still lets a late tap through.
    await slack.tap({
      user: 'U0WANGFANG',
      ts: slackCard(id)[0]?.ts ?? '',
      actionId: 'countersign.failed',
    });
    await until(() => slack.ephemeralsOf('U0WANGFANG').at(-1)?.text.includes('li.wei recorded at '));
  });

  it('of an unknown outcome asks in Feishu to run it again, and is open again once people say no', async () => {
    const id = await unknown();
    expect(await settleInFeishu(id, 'ou_LIWEI', 'run_again', ' ')).toMatchObject({
      kind: 'toast',
      type: 'warning',
    });
    expect(await settleInFeishu(id, 'ou_LIWEI', 'run_again', 'the bank has nothing')).toMatchObject({
      kind: 'toast',
      type: 'success',
    });
    await bothSay(id, 'running it again was asked for');
    await bothSay(id, 'the bank has nothing');
    const { supersededBy } = (await core.service.get(id)) ?? {};
    if (!supersededBy) throw new Error('nothing took its place');
    // Of the newer cards alone: the older ones name them.
    await until(() =>
      feishu
        .messages()
        .some(({ card }) => JSON.stringify(card).includes(`This runs the call of request ${id} again`)),
    );
    const slackNew = await until(() =>
      slack
        .messages()
        .find(({ blocks }) => JSON.stringify(blocks).includes(`This runs the call of request ${id} again`)),
    );
    await slack.tap({ user: 'U0WANGFANG', ts: slackNew.ts, actionId: 'countersign.reject' });
    await until(() => slack.modalOf('U0WANGFANG'));
    await slack.submitModal({ user: 'U0WANGFANG', reason: 'ask the bank in writing' });
    await until(async () => (await core.service.get(id))?.supersededBy === null);
    await until(() =>
      feishu.buttons(feishuCard(id)[0]?.messageId ?? '').some(({ name }) => name?.startsWith('failed.')),
    );
    expect(await settleInFeishu(id, 'ou_WANGFANG', 'failed', 'in writing: nothing came')).toMatchObject({
      type: 'success',
    });
    await bothSay(id, 'in writing: nothing came');
  });

  it('shows less where a platform refuses what it says, and can still be decided', async () => {
    const refusal = { code: 230028, msg: 'The message contains sensitive content' };
    feishu.faults.next('create', { kind: 'answer', status: 400, body: refusal });
    slack.faults.next('chat.postMessage', 'invalid_blocks');
    const id = await asked();
    const drawn = [...slackCard(id).map(({ blocks }) => blocks), ...feishuCard(id).map(({ card }) => card)];
    expect(drawn).toHaveLength(2);
    for (const card of drawn.map((one) => JSON.stringify(one))) {
      expect(card).toContain('The chat platform refused a part of this card');
      expect(card).toContain('68000.00');
      expect(card).not.toContain('a_b*c');
    }
    expect(await tapInFeishu(id, 'ou_LIWEI', 'approve')).toMatchObject({ kind: 'toast', type: 'success' });
    await bothSay(id, '1/2');
  });

  it('tells the requester that they cannot approve, in both', async () => {
    const id = await asked();
    expect(await tapInFeishu(id, 'ou_ZHAOMIN', 'approve')).toMatchObject({ kind: 'toast', type: 'error' });
    await tapInSlack(id, 'U0ZHAOMIN', 'approve');
    await until(() =>
      slack.ephemeralsOf('U0ZHAOMIN').at(-1)?.text.includes('cannot approve your own request'),
    );
    expect(await core.service.get(id)).toMatchObject({ status: 'pending', votes: [] });
  });
});
