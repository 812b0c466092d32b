import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel, InboundResult } from '../../../src/channel/channel.ts';
import type { CallbackReply, InboundEvent } from '../../../src/channel/inbound-event.ts';
import type { LocalizedText } from '../../../src/locale.ts';
import { type SlackStandin, startSlackStandin } from '../../../src/standin/slack/start-slack-standin.ts';
import { until } from '../../support/until.ts';
import { outgoing, SLACK, slackCard, slackChannel, TOKEN } from './fixture.ts';

const both = (en: string, zh: string): LocalizedText => ({ 'en-US': en, 'zh-CN': zh });
const notice = (level: 'success' | 'info' | 'warning' | 'error', en: string, zh = '中文'): CallbackReply => ({
  kind: 'notice',
  notice: { level, text: both(en, zh) },
});

const ASK: CallbackReply = {
  kind: 'ask-reason',
  action: 'reject',
  confirmation: slackCard().confirmationId,
  token: TOKEN,
  title: both('Reject this payment of goods and services', '拒绝'),
  label: both('Why?', '原因'),
  submit: both('Reject', '拒绝'),
  cancel: both('Cancel', '取消'),
  recap: {
    'en-US': ['oa__purchase_pay', 'amount: 68000.00', 'payee: <!channel> *x*'],
    'zh-CN': ['oa__purchase_pay', '金额: 68000.00', '收款方: <!channel> *x*'],
  },
  failure: {
    level: 'error',
    text: both('The form could not be opened. Nothing changed.', '表单打不开，未做任何更改。'),
  },
};

/** The channel behind a callback URL, with the core's replies given by each test. */
async function behindHttp(channel: () => Channel, reply: (event: InboundEvent) => CallbackReply) {
  const results: InboundResult[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const result = await channel().receive({ headers: request.headers, body: Buffer.concat(chunks) });
    results.push(result);
    if (result.kind === 'refused') return void response.writeHead(401).end();
    if (result.kind === 'answered') {
      return void response
        .writeHead(result.answer.status, { 'content-type': result.answer.contentType })
        .end(result.answer.body);
    }
    if (result.event.type === 'unsupported') return void response.writeHead(200).end();
    const { answer, afterwards } = channel().reply(result.event, reply(result.event));
    response.writeHead(answer.status, { 'content-type': answer.contentType }).end(answer.body);
    await afterwards?.();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/callback`;
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { url, results, close };
}

describe('what people see in Slack after they act', () => {
  let slack: SlackStandin;
  let channel: Channel;
  let app: Awaited<ReturnType<typeof behindHttp>>;
  let reply: (event: InboundEvent) => CallbackReply;
  let ts: string;
  const log: string[] = [];

  beforeEach(async () => {
    app = await behindHttp(
      () => channel,
      (event) => reply(event),
    );
    slack = await startSlackStandin({
      ...SLACK,
      users: [
        { id: 'U0LIWEI', name: '李伟' },
        { id: 'U0WANG', name: '王芳' },
        { id: 'U0ZHAO', name: '赵敏', locale: 'zh-TW' },
        { id: 'U0KENJI', name: '健司', locale: 'ja-JP' },
      ],
      callbackUrl: app.url,
    });
    channel = slackChannel({ apiUrl: slack.url, log });
    const sent = await channel.send(outgoing(channel));
    if (sent.kind !== 'sent') throw new Error('not sent');
    ts = sent.messageId;
  });
  afterEach(async () => {
    await channel.stop();
    await app.close();
    await slack.stop();
  });

  const eventsSeen = () =>
    app.results.map((result) => (result.kind === 'event' ? result.event : result.kind));
  const plainTexts = (value: unknown) => JSON.stringify(value);

  it('a tap is acknowledged empty, and its notice follows to that person alone', async () => {
    reply = () => notice('success', 'Approved: 1/2 <!channel>');
    const result = await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    expect(result).toMatchObject({ status: 200, body: '', shownAsError: false });
    await until(() => slack.ephemeralsOf('U0LIWEI').length === 1);
    const [ephemeral] = slack.ephemeralsOf('U0LIWEI');
    expect(ephemeral?.text).toBe('✅ Approved: 1/2 &lt;!channel&gt;');
    expect(ephemeral?.blocks).toEqual([
      { type: 'section', text: { type: 'plain_text', text: '✅ Approved: 1/2 <!channel>', emoji: false } },
    ]);
    expect(slack.ephemeralsOf('U0WANG')).toEqual([]);
    expect(eventsSeen()).toMatchObject([{ type: 'tap', messageId: ts, action: 'approve', token: TOKEN }]);
  });

  it('the notice comes in the language of the chat', async () => {
    channel = slackChannel({ apiUrl: slack.url, locale: 'zh-CN' });
    reply = () => notice('warning', 'You are not an approver.', '你不是审批人。');
    await slack.tap({ user: 'U0WANG', ts, actionId: 'countersign.reject' });
    const [ephemeral] = await until(() =>
      slack.ephemeralsOf('U0WANG').length > 0 ? slack.ephemeralsOf('U0WANG') : null,
    );
    expect(ephemeral?.text).toBe('⚠️ 你不是审批人。');
  });

  it('the notice comes in the language of the person who tapped, asked for once', async () => {
    reply = () => notice('warning', 'You are not an approver.', '你不是审批人。');
    for (const count of [1, 2]) {
      await slack.tap({ user: 'U0ZHAO', ts, actionId: 'countersign.approve' });
      await until(() => slack.ephemeralsOf('U0ZHAO').length === count);
      // Only a second question would meet it.
      slack.faults.next('users.info', 'missing_scope');
    }
    expect(slack.ephemeralsOf('U0ZHAO').map(({ text }) => text)).toEqual([
      '⚠️ 你不是审批人。',
      '⚠️ 你不是审批人。',
    ]);
  });

  it.each(['missing_scope', '500', 'reset', 'ratelimited'])(
    'the notice comes in the language of the chat where Slack does not say whose (%s)',
    async (fault) => {
      slack.faults.next('users.info', fault);
      reply = () => notice('warning', 'You are not an approver.', '你不是审批人。');
      await slack.tap({ user: 'U0ZHAO', ts, actionId: 'countersign.approve' });
      await until(() => slack.ephemeralsOf('U0ZHAO').length === 1);
      expect(slack.ephemeralsOf('U0ZHAO')[0]?.text).toBe('⚠️ You are not an approver.');
    },
  );

  it('the notice comes in the language of the chat where the person reads neither of ours', async () => {
    reply = () => notice('warning', 'You are not an approver.', '你不是审批人。');
    await slack.tap({ user: 'U0KENJI', ts, actionId: 'countersign.approve' });
    await until(() => slack.ephemeralsOf('U0KENJI').length === 1);
    expect(slack.ephemeralsOf('U0KENJI')[0]?.text).toBe('⚠️ You are not an approver.');
  });

  it('a modal asks and answers in the language of the person', async () => {
    reply = (event) =>
      event.type === 'tap' && event.reason === undefined ? ASK : notice('info', 'Too late.', '太晚了。');
    await slack.tap({ user: 'U0ZHAO', ts, actionId: 'countersign.reject' });
    const { view } = await until(() => slack.modalOf('U0ZHAO'));
    expect([view.title.text, view.submit?.text, view.close?.text]).toEqual(['拒绝', '拒绝', '取消']);
    expect(plainTexts(view.blocks)).toContain('金额: 68000.00');
    await slack.submitModal({ user: 'U0ZHAO', reason: '账号不对' });
    expect(plainTexts(slack.modalOf('U0ZHAO')?.view)).toContain('太晚了。');
    expect(slack.modalOf('U0ZHAO')?.view.close?.text).toBe('关闭');
  });

  it('somebody outside the channel gets a 200 and no message, which is logged', async () => {
    log.length = 0;
    reply = () => notice('warning', 'You are not an approver.');
    const result = await slack.tap({
      user: 'U0NOBODY',
      ts,
      actionId: 'countersign.approve',
      team: 'T0OTHER',
    });
    expect(result.status).toBe(200);
    await until(() => log.some((line) => line.includes('user_not_in_channel')));
    expect(eventsSeen()).toMatchObject([{ tenant: 'T0OTHER', actor: { tenant: 'T0OTHER' } }]);
  });

  it('the link button is answered and nothing follows', async () => {
    reply = () => {
      throw new Error('the core must not be asked');
    };
    const result = await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.open' });
    expect(result).toMatchObject({ status: 200, body: '' });
    expect(eventsSeen()).toEqual([{ type: 'unsupported', what: 'action countersign.open' }]);
  });

  it('a reason is asked for in a modal that shows what it is about, and only its submission carries it', async () => {
    reply = (event) =>
      event.type === 'tap' && event.reason === undefined ? ASK : notice('success', 'Rejected.');
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.reject' });
    const modal = await until(() => slack.modalOf('U0LIWEI'));
    expect(modal.view).toMatchObject({
      callback_id: 'countersign.reason',
      title: { text: 'Reject this payment of …' },
      submit: { text: 'Reject' },
    });
    expect(modal.view.blocks[0]).toEqual({
      type: 'section',
      text: {
        type: 'plain_text',
        text: 'oa__purchase_pay\namount: 68000.00\npayee: <!channel> *x*',
        emoji: false,
      },
    });
    const submitted = await slack.submitModal({ user: 'U0LIWEI', reason: '账号不对\n"x"' });
    expect(submitted).toMatchObject({ status: 200, body: '{"response_action":"clear"}' });
    expect(slack.modalOf('U0LIWEI')).toBeNull();
    await until(() => slack.ephemeralsOf('U0LIWEI').length === 1);
    expect(eventsSeen()).toMatchObject([
      { action: 'reject', reason: undefined, openedFor: null },
      {
        action: 'reject',
        reason: '账号不对\n"x"',
        openedFor: 'U0LIWEI',
        confirmation: slackCard().confirmationId,
        token: TOKEN,
        chat: SLACK.channel,
        messageId: ts,
      },
    ]);
  });

  it('a modal that another person submits says for whom it was opened', async () => {
    reply = (event) =>
      event.type === 'tap' && event.reason === undefined ? ASK : notice('error', 'Not yours.');
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.reject' });
    await until(() => slack.modalOf('U0LIWEI'));
    await slack.submitModal({ user: 'U0LIWEI', as: 'U0WANG', reason: 'x' });
    expect(eventsSeen()[1]).toMatchObject({ actor: { ids: { user: 'U0WANG' } }, openedFor: 'U0LIWEI' });
  });

  it('an empty reason stays in the modal with a sentence, and spaces are empty', async () => {
    reply = (event) =>
      event.type === 'tap' && event.reason === undefined
        ? ASK
        : { kind: 'reason-missing', notice: { level: 'warning', text: both('Say why.', '请填写原因。') } };
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.reject' });
    await until(() => slack.modalOf('U0LIWEI'));
    expect(await slack.submitModal({ user: 'U0LIWEI', reason: '' })).toBeNull();
    await slack.submitModal({ user: 'U0LIWEI', reason: '   ' });
    expect(slack.modalOf('U0LIWEI')?.errors).toEqual({ 'countersign.reason': 'Say why.' });
    expect(eventsSeen()[1]).toMatchObject({ reason: '' });
  });

  it('a late submission is answered in the modal', async () => {
    reply = (event) =>
      event.type === 'tap' && event.reason === undefined ? ASK : notice('info', '李伟 rejected it at 18:02.');
    await slack.tap({ user: 'U0WANG', ts, actionId: 'countersign.reject' });
    await until(() => slack.modalOf('U0WANG'));
    await slack.submitModal({ user: 'U0WANG', reason: 'too late' });
    expect(plainTexts(slack.modalOf('U0WANG')?.view.blocks)).toContain('ℹ️ 李伟 rejected it at 18:02.');
    expect(slack.modalOf('U0WANG')?.errors).toEqual({});
    expect(slack.ephemeralsOf('U0WANG')).toEqual([]);
  });

  it.each(['expired_trigger_id', '500', 'ratelimited', 'reset'])(
    'a modal that cannot be opened (%s) is said so, in an ephemeral',
    async (fault) => {
      reply = () => ASK;
      slack.faults.next('views.open', fault);
      const result = await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.reject' });
      expect(result.status).toBe(200);
      await until(() => slack.ephemeralsOf('U0LIWEI').length === 1);
      expect(slack.ephemeralsOf('U0LIWEI')[0]?.text).toBe(
        '⛔ The form could not be opened. Nothing changed.',
      );
      expect(slack.modalOf('U0LIWEI')).toBeNull();
    },
  );

  it('a callback with a wrong signature is refused with nothing in the answer', async () => {
    reply = () => notice('info', 'x');
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    const genuine = slack.lastCallback();
    if (genuine === null) throw new Error('no callback');
    const forged = await slack.replay({ ...genuine, body: `${genuine.body}&x=1` });
    expect(forged).toMatchObject({ status: 401, body: '' });
    expect(await slack.replay(genuine)).toMatchObject({ status: 200 });
  });

  it('a URL check gets its challenge, and an SSL check its 200, where they are signed and only there', async () => {
    const post = (body: string, headers: Record<string, string> = {}) =>
      fetch(app.url, { method: 'POST', body, headers });
    const signed = (body: string) => {
      const timestamp = String(Math.floor(Date.now() / 1000));
      const digest = createHmac('sha256', SLACK.signingSecret)
        .update(`v0:${timestamp}:${body}`)
        .digest('hex');
      return post(body, { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${digest}` });
    };
    const urlCheck = JSON.stringify({ type: 'url_verification', token: 't', challenge: '3eZbrw1a' });
    expect(await (await signed(urlCheck)).json()).toEqual({ challenge: '3eZbrw1a' });
    expect((await signed('ssl_check=1&token=t')).status).toBe(200);
    for (const body of [urlCheck, 'ssl_check=1&token=t']) {
      const refused = await post(body);
      expect([refused.status, await refused.text()]).toEqual([401, '']);
    }
  });

  it('what Slack has no time to tell is told when it has', async () => {
    reply = () => notice('info', 'on its way');
    slack.faults.next('chat.postEphemeral', { retryAfterSeconds: 0 });
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    await until(() => slack.ephemeralsOf('U0LIWEI').length === 1);
  });

  it('stopping does not wait until Slack has time', async () => {
    reply = () => notice('info', 'on its way');
    slack.faults.next('chat.postEphemeral', { retryAfterSeconds: 9 });
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    await channel.stop();
    expect(slack.ephemeralsOf('U0LIWEI')).toEqual([]);
  });

  it('stopping waits for what is still being told', async () => {
    reply = () => notice('info', 'on its way');
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    await channel.stop();
    expect(slack.ephemeralsOf('U0LIWEI')).toHaveLength(1);
    expect(channel.health()).toEqual({ ready: false, detail: 'stopped' });
  });
});
