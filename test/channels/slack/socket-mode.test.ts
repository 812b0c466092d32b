import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel, ChannelAnswer } from '../../../src/channel/channel.ts';
import type { CallbackReply, InboundEvent } from '../../../src/channel/inbound-event.ts';
import { type SlackStandin, startSlackStandin } from '../../../src/standin/slack/start-slack-standin.ts';
import { until } from '../../support/until.ts';
import { outgoing, SLACK, SLACK_APP_TOKEN, slackCard, slackChannel } from './fixture.ts';

const LI_WEI = { id: 'U0LIWEI', name: '李伟' };
const text = (words: string) => ({ 'zh-CN': words, 'en-US': words });
const NOTICE: CallbackReply = { kind: 'notice', notice: { level: 'success', text: text('Approved by you') } };

let slack: SlackStandin;
let channel: Channel;
let events: InboundEvent[];
let log: string[];
/** What the core says; a test may put something else here. */
let answerOf: (event: InboundEvent) => Promise<ChannelAnswer>;

async function connect(settings: Readonly<Record<string, unknown>> = {}) {
  channel = slackChannel({
    apiUrl: slack.url,
    log,
    settings: { mode: 'socket', signingSecret: '', appToken: SLACK_APP_TOKEN, ...settings },
  });
  await channel.start();
  channel.connection?.open({
    async handle(event) {
      events.push(event);
      return answerOf(event);
    },
    async refuse() {},
  });
}
const sockets = () => {
  if (slack.sockets === null) throw new Error('there are no sockets');
  return slack.sockets;
};
const connectionAt = (at: number) => {
  const connection = sockets().connections()[at];
  if (connection === undefined) throw new Error(`there is no connection ${at}`);
  return connection;
};
const open = () => channel.connection?.status().open;
const sendCard = async () => {
  const outcome = await channel.send(outgoing(channel, { card: slackCard() }));
  if (outcome.kind !== 'sent') throw new Error('the card was not sent');
  return outcome.messageId;
};
const tap = async (action: 'approve' | 'reject') =>
  slack.tap({ user: LI_WEI.id, ts: await sendCard(), actionId: `countersign.${action}` });

beforeEach(async () => {
  events = [];
  log = [];
  answerOf = async (event) =>
    event.type === 'tap'
      ? channel.reply(event, NOTICE)
      : { answer: { status: 200, contentType: 'application/json', body: '{}' } };
  slack = await startSlackStandin({
    ...{ ...SLACK, appToken: SLACK_APP_TOKEN },
    users: [LI_WEI],
    callbackUrl: 'http://127.0.0.1:9/',
  });
  await connect();
  await until(() => open() === 2);
});
afterEach(async () => {
  await channel.stop();
  await slack.stop();
});

describe('a tap over a socket', () => {
  it('is acknowledged with nothing, and the person is told afterwards', async () => {
    expect(await tap('approve')).toMatchObject({ status: 200, body: '', shownAsError: false });
    const told = await until(() => slack.ephemeralsOf(LI_WEI.id)[0]);
    expect(told.text).toContain('Approved by you');
  });

  it('opens the form for a reason, and what is wrong with it is said in the form', async () => {
    answerOf = async (event) => {
      if (event.type !== 'tap') throw new Error('not a tap');
      const notice = { level: 'warning', text: text('Say why') } as const;
      if (event.reason !== undefined) return channel.reply(event, { kind: 'reason-missing', notice });
      const words = { title: text('Reason'), label: text('Why?'), submit: text('OK'), cancel: text('Back') };
      return channel.reply(event, {
        kind: 'ask-reason',
        action: 'reject',
        confirmation: event.confirmation ?? '',
        token: event.token ?? '',
        recap: { 'zh-CN': [], 'en-US': [] },
        failure: notice,
        ...words,
      });
    };
    await tap('reject');
    await until(() => slack.modalOf(LI_WEI.id));
    const answer = await slack.submitModal({ user: LI_WEI.id, reason: '  ' });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ response_action: 'errors' });
    expect(Object.values(slack.modalOf(LI_WEI.id)?.errors ?? {})).toEqual(['Say why']);
    expect(events).toMatchObject([{ reason: undefined }, { reason: '', openedFor: LI_WEI.id }]);
  });

  it('in an envelope that comes twice, over two connections, happens once and is answered twice', async () => {
    await tap('approve');
    const payload = { type: 'block_actions', actions: [{ action_id: 'countersign.approve' }] };
    const twice = [0, 1].map((at) => connectionAt(at).deliver(payload, 'the-same-envelope'));
    for (const answer of await Promise.all(twice)) expect(answer.shownAsError).toBe(false);
    expect(events).toHaveLength(2);
    await until(() => slack.ephemeralsOf(LI_WEI.id).length === 1);
  });

  it('whose connection went away meanwhile is answered over the other', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    answerOf = async () => {
      await held;
      return { answer: { status: 200, contentType: '', body: '' } };
    };
    const lost = connectionAt(0);
    void lost.deliver({ type: 'block_actions' }, 'on-the-way');
    await until(() => events.length === 1);
    lost.cut();
    await until(() => open() === 1);
    release();
    await until(() => sockets().answered().includes('on-the-way'));
  });
});

describe('a socket', () => {
  it('that Slack wants to renew is replaced before it goes, and answers until then', async () => {
    const old = connectionAt(0);
    old.disconnect('refresh_requested');
    await until(() => sockets().connections().length === 3);
    expect(await old.deliver({ type: 'block_actions' })).toMatchObject({ shownAsError: false });
    expect(open()).toBe(2);
    old.close();
    await until(() => sockets().connections().length === 2);
    expect(open()).toBe(2);
  });

  it('survives whatever is no frame of Slack’s', async () => {
    const strange = ['', 'null', '[]', '7', '"x"', '{', '{}', '{"type":"events_api","envelope_id":"e1"}'];
    const more = ['{"type":"hello"}', '{"envelope_id":7,"type":"interactive"}', '['.repeat(100_000)];
    for (const frame of [...strange, ...more]) for (const at of [0, 1]) connectionAt(at).send(frame);
    expect((await tap('approve')).shownAsError).toBe(false);
    expect(open()).toBe(2);
    expect(sockets().connections()).toHaveLength(2);
    // What asks for an acknowledgement gets it, whatever it is.
    expect(sockets().answered()).toContain('e1');
  });

  it('carries a frame of more than a megabyte to nobody, and another is opened', async () => {
    connectionAt(0).send('x'.repeat(2 ** 20 + 1));
    await until(() => (channel.connection?.status().reconnects ?? 0) > 0);
    expect(events).toEqual([]);
  });

  it('of another app is not used, and /readyz says whose it is', async () => {
    await channel.stop();
    await connect({ appId: 'A0OTHER' });
    const detail = 'the app token belongs to A0COUNTER, not to A0OTHER';
    await until(() => channel.health().detail.includes(detail));
    expect(channel.health().ready).toBe(false);
    expect(open()).toBe(0);
  });

  it('is asked for under the app token, and what refuses it is told without it', async () => {
    await channel.stop();
    await connect({ appToken: 'xapp-wrong' });
    await until(() => channel.health().detail.includes('apps.connections.open: invalid_auth'));
    expect(await channel.connection?.check(AbortSignal.timeout(5_000))).toEqual({
      ready: false,
      detail: 'Socket Mode: apps.connections.open: invalid_auth',
    });
  });

  it('is not opened by a check', async () => {
    expect(await channel.connection?.check(AbortSignal.timeout(5_000))).toMatchObject({ ready: true });
    expect(sockets().connections()).toHaveLength(2);
  });

  it('leaves neither token nor ticket in the log, nor anything that was said', async () => {
    for (const connection of sockets().connections()) connection.cut();
    await until(() => (channel.connection?.status().reconnects ?? 0) === 2);
    await tap('approve');
    expect(log.join()).toContain('is replaced');
    for (const secret of [SLACK_APP_TOKEN, SLACK.botToken, 'ticket', 'ws://', 'countersign.approve'])
      expect(log.join()).not.toContain(secret);
  });
});
