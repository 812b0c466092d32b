import { createServer, type Server } from 'node:http';
import { App, HTTPReceiver, verifySlackRequest } from '@slack/bolt';
import { type Logger, LogLevel, WebClient } from '@slack/web-api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { type SlackStandin, startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { WORKSPACE } from './slack-workspace.ts';

/** The SDKs log what these tests provoke. */
const quiet: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => LogLevel.ERROR,
  setName: () => {},
};

const button = (actionId: string) => ({
  type: 'button' as const,
  action_id: actionId,
  text: { type: 'plain_text' as const, text: 'Approve' },
  value: '付款 + 100% 🚀 &=',
});
const card = (...actionIds: string[]) => [
  { type: 'header' as const, text: { type: 'plain_text' as const, text: '付款审批' } },
  { type: 'actions' as const, block_id: 'decide', elements: actionIds.map(button) },
];
const modal = (title: string) => ({
  type: 'modal' as const,
  callback_id: 'reason',
  private_metadata: 'context',
  title: { type: 'plain_text' as const, text: title },
  submit: { type: 'plain_text' as const, text: 'Send' },
  blocks: [
    {
      type: 'input' as const,
      block_id: 'why',
      label: { type: 'plain_text' as const, text: 'Why?' },
      element: { type: 'plain_text_input' as const, action_id: 'text', multiline: true },
    },
  ],
});

describe('the Slack stand-in under the official framework', () => {
  let slack: SlackStandin;
  let app: App;

  beforeEach(async () => {
    const port = await freePort();
    slack = await startSlackStandin({ ...WORKSPACE, callbackUrl: `http://127.0.0.1:${port}/slack/events` });
    app = new App({
      receiver: new HTTPReceiver({
        signingSecret: WORKSPACE.signingSecret,
        port,
        logger: quiet,
      }),
      token: WORKSPACE.botToken,
      clientOptions: { slackApiUrl: slack.url },
      logger: quiet,
    });
    await app.start(port);
  });
  afterEach(async () => {
    await app.stop();
    await slack.stop();
  });

  it('sends taps that Bolt verifies, dispatches and acknowledges', async () => {
    const seen: unknown[] = [];
    app.action('approve', async ({ ack, action, body }) => {
      seen.push({ value: 'value' in action ? action.value : null, user: body.user.id, team: body.team?.id });
      await ack();
    });
    const { ts } = await app.client.chat.postMessage({
      channel: WORKSPACE.channel,
      text: 'x',
      blocks: card('approve'),
    });
    const result = await slack.tap({ user: 'U0LIWEI', ts: ts ?? '', actionId: 'approve' });
    expect(result).toMatchObject({ status: 200, body: '', shownAsError: false });
    expect(result.elapsedMs).toBeLessThan(3000);
    expect(seen).toEqual([{ value: '付款 + 100% 🚀 &=', user: 'U0LIWEI', team: 'T0ACME' }]);
  });

  it('opens modals for Bolt and follows its answers: errors, update, clear', async () => {
    const reasons: unknown[] = [];
    app.action('reject', async ({ ack, body, client }) => {
      await ack();
      if ('trigger_id' in body)
        await client.views.open({ trigger_id: body.trigger_id, view: modal('Reason') });
    });
    app.view('reason', async ({ ack, view }) => {
      const reason = view.state.values.why?.text?.value ?? '';
      reasons.push([reason, view.private_metadata]);
      if (reason === 'short') return ack({ response_action: 'errors', errors: { why: 'Say more.' } });
      if (reason === 'late') return ack({ response_action: 'update', view: modal('Too late') });
      return ack({ response_action: 'clear' });
    });
    const { ts = '' } = await app.client.chat.postMessage({
      channel: WORKSPACE.channel,
      text: 'x',
      blocks: card('reject'),
    });
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'reject' });
    await until(() => slack.modalOf('U0LIWEI'));
    expect(await slack.submitModal({ user: 'U0LIWEI', reason: '' })).toBeNull();
    await slack.submitModal({ user: 'U0LIWEI', reason: 'short' });
    expect(slack.modalOf('U0LIWEI')?.errors).toEqual({ why: 'Say more.' });
    await slack.submitModal({ user: 'U0LIWEI', reason: 'late' });
    expect(slack.modalOf('U0LIWEI')?.view.title.text).toBe('Too late');
    await slack.submitModal({ user: 'U0LIWEI', reason: 'a good reason' });
    expect(slack.modalOf('U0LIWEI')).toBeNull();
    expect(reasons).toEqual([
      ['short', 'context'],
      ['late', 'context'],
      ['a good reason', 'context'],
    ]);
  });

  it('shows an error to the person where the app does not know the button', async () => {
    const { ts = '' } = await app.client.chat.postMessage({
      channel: WORKSPACE.channel,
      text: 'x',
      blocks: card('unknown'),
    });
    const result = await slack.tap({ user: 'U0LIWEI', ts, actionId: 'unknown' });
    expect(result.shownAsError).toBe(true);
  });
});

describe('the Slack stand-in', () => {
  let slack: SlackStandin;
  let client: WebClient;
  let app: Server;
  let respond: (body: string, headers: NodeJS.Dict<string | string[]>) => number | null;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = Date.now();
    const clock: Clock = { ...systemClock, now: () => nowMs, monotonic: () => nowMs };
    respond = () => 200;
    app = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const status = respond(Buffer.concat(chunks).toString(), request.headers);
      if (status !== null) response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    const address = app.address();
    const callbackUrl = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`;
    slack = await startSlackStandin({ ...WORKSPACE, callbackUrl, clock });
    client = clientWith(WORKSPACE.botToken);
  });
  afterEach(async () => {
    await slack.stop();
    await new Promise((resolve) => app.close(resolve).closeAllConnections());
  });

  const clientWith = (token: string) =>
    new WebClient(token, { slackApiUrl: slack.url, retryConfig: { retries: 0 }, logger: quiet });
  const { channel } = WORKSPACE;
  const post = async (...actionIds: string[]) =>
    (await client.chat.postMessage({ channel, text: 'x', blocks: card(...actionIds) })).ts ?? '';

  it("signs so that Slack's own verifier accepts it, and nothing changed after", async () => {
    const seen: [string, NodeJS.Dict<string | string[]>][] = [];
    respond = (body, headers) => {
      seen.push([body, headers]);
      return 200;
    };
    await slack.tap({ user: 'U0LIWEI', ts: await post('approve'), actionId: 'approve' });
    const [body = '', headers = {}] = seen[0] ?? [];
    const verify =
      (text: string, signingSecret = WORKSPACE.signingSecret) =>
      () =>
        verifySlackRequest({
          signingSecret,
          body: text,
          headers: {
            'x-slack-signature': String(headers['x-slack-signature']),
            'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
          },
        });
    expect(verify(body)).not.toThrow();
    expect(verify(`${body} `)).toThrow();
    expect(verify(body, 'another-secret')).toThrow();
  });

  it('replays the same bytes under the same timestamp', async () => {
    const seen: string[] = [];
    respond = (body, headers) => {
      seen.push(`${headers['x-slack-request-timestamp']} ${headers['x-slack-signature']} ${body}`);
      return 200;
    };
    await slack.tap({ user: 'U0LIWEI', ts: await post('approve'), actionId: 'approve' });
    nowMs += 400_000;
    await slack.replay();
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBe(seen[0]);
  });

  it('checks the token', async () => {
    await expect(clientWith('xoxb-wrong').auth.test()).rejects.toMatchObject({
      data: { error: 'invalid_auth' },
    });
    await expect(
      new WebClient(undefined, { slackApiUrl: slack.url, retryConfig: { retries: 0 } }).auth.test(),
    ).rejects.toMatchObject({ data: { error: 'not_authed' } });
    expect(await client.auth.test()).toMatchObject({ ok: true, team_id: 'T0ACME' });
  });

  it.each([
    ['a header of 151 characters', [{ type: 'header', text: { type: 'plain_text', text: 'x'.repeat(151) } }]],
    ['a header in mrkdwn', [{ type: 'header', text: { type: 'mrkdwn', text: 'x' } }]],
    [
      'a section of 3,001 characters',
      [{ type: 'section', text: { type: 'plain_text', text: 'x'.repeat(3001) } }],
    ],
    ['an empty text', [{ type: 'section', text: { type: 'plain_text', text: '' } }]],
    ['a section without text', [{ type: 'section' }]],
    ['51 blocks', Array.from({ length: 51 }, () => ({ type: 'divider' }))],
    ['an input in a message', modal('x').blocks],
    ['a block nobody knows', [{ type: 'table' }]],
    ['a key nobody knows', [{ type: 'divider', color: 'red' }]],
    ['two equal action ids', card('same', 'same')],
    [
      'a button value of 2,001 characters',
      [{ type: 'actions', elements: [{ ...button('a'), value: 'x'.repeat(2001) }] }],
    ],
    ['a link to a script', [{ type: 'actions', elements: [{ ...button('a'), url: 'javascript:alert(1)' }] }]],
  ])('refuses %s as Slack does', async (_what, blocks) => {
    const posting = client.apiCall('chat.postMessage', { channel, text: 'x', blocks });
    await expect(posting).rejects.toMatchObject({ data: { error: 'invalid_blocks' } });
    expect(slack.messages()).toEqual([]);
  });

  it('refuses blocks that are too long together, and text that is not there', async () => {
    const blocks = Array.from({ length: 5 }, () => ({
      type: 'section' as const,
      text: { type: 'plain_text' as const, text: 'x'.repeat(2900) },
    }));
    await expect(client.chat.postMessage({ channel, text: 'x', blocks })).rejects.toMatchObject({
      data: { error: 'msg_blocks_too_long' },
    });
    await expect(client.apiCall('chat.postMessage', { channel })).rejects.toMatchObject({
      data: { error: 'no_text' },
    });
  });

  it('gives each message a ts of its own, in growing order, with the clock standing still', async () => {
    const stamps = [await post('a'), await post('a'), await post('a')].map(Number);
    expect(new Set(stamps).size).toBe(3);
    expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
  });

  it('tells its history page by page, newest first, with metadata only when asked', async () => {
    for (let count = 0; count < 5; count += 1) {
      await client.chat.postMessage({
        channel,
        text: `message ${count}`,
        metadata: { event_type: 'card', event_payload: { count } },
      });
    }
    const texts: (string | undefined)[] = [];
    for await (const page of client.paginate('conversations.history', { channel, limit: 2 })) {
      const { messages = [] } = page as { messages?: { text: string; metadata?: unknown }[] };
      texts.push(...messages.map((message) => message.text));
      expect(messages.every((message) => message.metadata === undefined)).toBe(true);
    }
    expect(texts).toEqual(['message 4', 'message 3', 'message 2', 'message 1', 'message 0']);
    const oldest = slack.messages()[3]?.ts ?? '';
    const late = await client.conversations.history({ channel, oldest, include_all_metadata: true });
    expect(late.messages?.map((message) => message.metadata?.event_payload)).toEqual([{ count: 4 }]);
  });

  it('keeps what a message showed before, for a person whose client is behind', async () => {
    const ts = await post('approve');
    await client.chat.update({ channel, ts, text: 'closed', blocks: card('other') });
    expect(slack.messages()[0]).toMatchObject({ text: 'closed', edited: true });
    expect((await slack.tap({ user: 'U0LIWEI', ts, actionId: 'approve' })).status).toBe(200);
    expect(() => slack.tap({ user: 'U0LIWEI', ts, actionId: 'never' })).toThrow('never had a button');
  });

  it('lets a trigger open one modal, within 3 seconds', async () => {
    const triggers: string[] = [];
    respond = (body) => {
      const payload = JSON.parse(new URLSearchParams(body).get('payload') ?? '{}');
      triggers.push(payload.trigger_id);
      return 200;
    };
    const ts = await post('reject');
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'reject' });
    await slack.tap({ user: 'U0LIWEI', ts, actionId: 'reject' });
    const [first = '', second = ''] = triggers;
    const open = (trigger_id: string) => client.views.open({ trigger_id, view: modal('Reason') });
    await open(first);
    await expect(open(first)).rejects.toMatchObject({ data: { error: 'exchanged_trigger_id' } });
    nowMs += 3001;
    await expect(open(second)).rejects.toMatchObject({ data: { error: 'expired_trigger_id' } });
    await expect(open('1.2.3')).rejects.toMatchObject({ data: { error: 'invalid_trigger_id' } });
  });

  it('gives up on an app that does not answer within 3 seconds', async () => {
    respond = () => null;
    const result = await slack.tap({ user: 'U0LIWEI', ts: await post('approve'), actionId: 'approve' });
    expect(result).toMatchObject({ status: null, shownAsError: true });
    expect(result.elapsedMs).toBeGreaterThanOrEqual(2900);
  });

  it('whispers to members only, and tells who watches', async () => {
    let changes = 0;
    const stopWatching = slack.onChange(() => {
      changes += 1;
    });
    await client.chat.postEphemeral({ channel, user: 'U0LIWEI', text: 'for you' });
    stopWatching();
    await expect(client.chat.postEphemeral({ channel, user: 'U0NOBODY', text: 'x' })).rejects.toMatchObject({
      data: { error: 'user_not_in_channel' },
    });
    expect(slack.ephemeralsOf('U0LIWEI').map(({ text }) => text)).toEqual(['for you']);
    expect(changes).toBe(1);
  });

  const impatientClient = () =>
    new WebClient(WORKSPACE.botToken, {
      slackApiUrl: slack.url,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      logger: quiet,
    });

  it.each([
    ['ratelimited', { retryAfter: 7 }],
    ['500', { statusCode: 500 }],
    ['is_archived', { data: { error: 'is_archived' } }],
  ])('meets the next call with %s, once', async (fault, error) => {
    const impatient = impatientClient();
    slack.faults.next('chat.postMessage', fault);
    await expect(impatient.chat.postMessage({ channel, text: 'x' })).rejects.toMatchObject(error);
    expect(slack.messages()).toEqual([]);
    expect(await impatient.chat.postMessage({ channel, text: 'x' })).toMatchObject({ ok: true });
  });

  it('follows a plan for what nothing is lined up for, and says for how long it is busy', async () => {
    const impatient = impatientClient();
    slack.faults.follow((method, args) =>
      method === 'chat.postMessage' && args.text === 'too much' ? { retryAfterSeconds: 3 } : null,
    );
    await impatient.chat.postMessage({ channel, text: 'well' });
    await expect(impatient.chat.postMessage({ channel, text: 'too much' })).rejects.toMatchObject({
      retryAfter: 3,
    });
    slack.faults.next('chat.postMessage', '500');
    await expect(impatient.chat.postMessage({ channel, text: 'too much' })).rejects.toMatchObject({
      statusCode: 500,
    });
    expect(slack.messages().map(({ text }) => text)).toEqual(['well']);
  });
});
