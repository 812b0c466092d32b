import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { WebClient } from '@slack/web-api';
import { createEmulator, type Emulator } from 'emulate';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SlackStandin, startSlackStandin } from '../../../src/standin/slack/start-slack-standin.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { outgoing, SLACK, slackCard, slackChannel } from './fixture.ts';

describe('cards through the official client to an independent Slack', () => {
  const botToken = 'xoxb-emulated';
  const place = { team: 'T000000001', channel: 'C000000001' };
  let emulator: Emulator;
  let apiUrl: string;

  beforeAll(async () => {
    emulator = await createEmulator({
      service: 'slack',
      port: await freePort(),
      seed: { tokens: { [botToken]: { login: 'admin' } }, slack: { channels: [{ name: 'finance' }] } },
    });
    apiUrl = `${emulator.url}/api/`;
  });
  afterAll(() => emulator.close());

  const history = async () => {
    const reader = new WebClient(botToken, { slackApiUrl: apiUrl });
    const page = await reader.conversations.history({ channel: place.channel, include_all_metadata: true });
    return page.messages ?? [];
  };

  it('are posted with blocks and metadata, changed in place, and not posted twice', async () => {
    const channel = slackChannel({ apiUrl, settings: { ...place, botToken } });
    const delivery = outgoing(channel);
    const sent = await channel.send(delivery);
    if (sent.kind !== 'sent') throw new Error(JSON.stringify(sent));
    const [posted] = await history();
    expect(posted).toMatchObject({
      ts: sent.messageId,
      blocks: JSON.parse(delivery.rendered.payload).blocks,
      metadata: { event_type: 'countersign_card', event_payload: { delivery: delivery.id } },
    });

    const closed = slackCard({ title: 'Rejected', state: 'rejected', actions: { kind: 'none' } });
    const change = outgoing(channel, { card: closed, id: delivery.id, messageId: sent.messageId });
    expect(await channel.update(change)).toEqual({ kind: 'updated' });
    expect((await history())[0]).toMatchObject({ text: 'Rejected', ts: sent.messageId });

    const before = (await history()).length;
    expect(await channel.send({ ...delivery, attempt: 2 })).toEqual(sent);
    expect(await history()).toHaveLength(before);
  });

  it('are refused for good in a channel that does not exist', async () => {
    const channel = slackChannel({ apiUrl, settings: { ...place, botToken, channel: 'C0NOWHERE' } });
    expect(await channel.send(outgoing(channel))).toEqual({
      kind: 'refused',
      error: 'chat.postMessage: channel_not_found',
    });
    const gone = outgoing(channel, { messageId: '1.000001' });
    expect((await channel.update(gone)).kind).toBe('gone');
  });

  it('make the channel ready once the token is known, and not with a token of another team', async () => {
    const channel = slackChannel({ apiUrl, settings: { ...place, botToken } });
    await channel.start();
    await until(() => channel.health().ready, { what: 'the channel is ready' });
    await channel.stop();

    const elsewhere = slackChannel({ apiUrl, settings: { ...place, botToken, team: 'T0OTHER' } });
    await elsewhere.start();
    await until(() => elsewhere.health().detail.includes('not to T0OTHER'));
    expect(elsewhere.health().ready).toBe(false);
    await elsewhere.stop();
  });
});

describe('a card whose sending goes wrong', () => {
  let slack: SlackStandin;

  beforeEach(async () => {
    slack = await startSlackStandin({ ...SLACK, users: [], callbackUrl: 'http://127.0.0.1:9/unused' });
  });
  afterEach(() => slack.stop());

  it.each([
    ['ratelimited', { kind: 'retry', error: 'chat.postMessage: rate limited', retryAfterMs: 7000 }],
    ['500', { kind: 'uncertain', error: 'chat.postMessage: HTTP 500' }],
    ['internal_error', { kind: 'uncertain', error: 'chat.postMessage: internal_error' }],
    ['token_revoked', { kind: 'refused', error: 'chat.postMessage: token_revoked' }],
    ['account_inactive', { kind: 'refused', error: 'chat.postMessage: account_inactive' }],
    ['not_in_channel', { kind: 'refused', error: 'chat.postMessage: not_in_channel' }],
    ['is_archived', { kind: 'refused', error: 'chat.postMessage: is_archived' }],
    ['missing_scope', { kind: 'refused', error: 'chat.postMessage: missing_scope' }],
    ['msg_too_long', { kind: 'content-refused', error: 'chat.postMessage: msg_too_long' }],
    ['restricted_action', { kind: 'refused', error: 'chat.postMessage: restricted_action' }],
    [
      'a_code_of_tomorrow',
      { kind: 'retry', error: 'chat.postMessage: a_code_of_tomorrow', retryAfterMs: null },
    ],
    [
      'service_unavailable',
      { kind: 'retry', error: 'chat.postMessage: service_unavailable', retryAfterMs: null },
    ],
  ])('by %s is told apart', async (fault, outcome) => {
    slack.faults.next('chat.postMessage', fault);
    const channel = slackChannel({ apiUrl: slack.url });
    expect(await channel.send(outgoing(channel))).toEqual(outcome);
    expect(slack.messages()).toEqual([]);
  });

  it.each([
    ['ratelimited', 'retry'],
    ['500', 'uncertain'],
    ['reset', 'uncertain'],
    ['internal_error', 'uncertain'],
  ])('is changed again after %s', async (fault, kind) => {
    const channel = slackChannel({ apiUrl: slack.url });
    const sent = await channel.send(outgoing(channel));
    if (sent.kind !== 'sent') throw new Error('not sent');
    slack.faults.next('chat.update', fault);
    const change = outgoing(channel, { messageId: sent.messageId });
    expect((await channel.update(change)).kind).toBe(kind);
    expect(await channel.update(change)).toEqual({ kind: 'updated' });
  });

  it.each([
    ['message_not_found', 'gone'],
    ['cant_update_message', 'refused'],
    ['edit_window_closed', 'gone'],
    ['msg_blocks_too_long', 'content-refused'],
  ])('and cannot be changed any more after %s', async (fault, kind) => {
    const channel = slackChannel({ apiUrl: slack.url });
    slack.faults.next('chat.update', fault);
    const change = outgoing(channel, { messageId: slack.postAsAnotherApp({ text: 'x' }).ts });
    expect((await channel.update(change)).kind).toBe(kind);
  });

  it('with an id that is no Slack ts is refused before anything is sent', async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    const change = outgoing(channel, { messageId: '../auth.revoke' });
    expect(await channel.update(change)).toMatchObject({ kind: 'refused' });
  });

  it('by a broken connection is uncertain, and posted once in the end', async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    const delivery = outgoing(channel);
    slack.faults.next('chat.postMessage', 'reset-after-accept');
    expect((await channel.send(delivery)).kind).toBe('uncertain');
    expect(await channel.send({ ...delivery, attempt: 2 })).toEqual({
      kind: 'sent',
      messageId: slack.messages()[0]?.ts,
    });
    expect(slack.messages()).toHaveLength(1);
  });

  it.each([
    ['is no JSON', '<html>Please sign in</html>', 200],
    ['is cut short', '{"ok":true,"ts":"17', 200],
    ['says nothing', '{}', 200],
    ['says an error that is none', '{"ok":false,"error":"Blocked by proxy!"}', 200],
    ['comes under another 2xx', '{"ok":true}', 202],
  ])('by an answer that %s is uncertain: Slack may have done it', async (_, body, status) => {
    const server = createHttpServer((_request, response) => response.writeHead(status).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const channel = slackChannel({ apiUrl: `http://127.0.0.1:${port}/api/` });
    expect((await channel.send(outgoing(channel))).kind).toBe('uncertain');
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
  });

  it('by an answer that never comes is uncertain when the caller gives up', async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    slack.faults.next('chat.postMessage', 'timeout-after-accept');
    const giveUp = new AbortController();
    const sending = channel.send(outgoing(channel, { signal: giveUp.signal }));
    await until(() => slack.messages().length === 1);
    giveUp.abort();
    expect((await sending).kind).toBe('uncertain');
  });

  it('by a Slack that cannot be reached may be tried again: nothing was sent', async () => {
    const channel = slackChannel({ apiUrl: `http://127.0.0.1:${await freePort()}/api/` });
    const outcome = await channel.send(outgoing(channel));
    expect(outcome).toEqual({
      kind: 'retry',
      error: 'chat.postMessage: cannot connect (ECONNREFUSED)',
      retryAfterMs: null,
    });
  });

  it('by a caller who had stopped before is not sent', async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    const outcome = await channel.send(outgoing(channel, { signal: AbortSignal.abort() }));
    expect(outcome.kind).toBe('retry');
    expect(slack.messages()).toEqual([]);
  });

  it('is not sent to the address that a redirect names', async () => {
    let reached = false;
    const server = createServer((socket) => {
      socket.once('data', (data) => {
        if (data.toString().startsWith('POST /elsewhere')) reached = true;
        socket.end('HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const channel = slackChannel({ apiUrl: `http://127.0.0.1:${port}/api/` });
    expect((await channel.send(outgoing(channel))).kind).toBe('uncertain');
    expect(reached).toBe(false);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('a further attempt', () => {
  let slack: SlackStandin;

  beforeEach(async () => {
    slack = await startSlackStandin({ ...SLACK, users: [], callbackUrl: 'http://127.0.0.1:9/unused' });
  });
  afterEach(() => slack.stop());

  const metadata = (delivery: string) => ({ event_type: 'countersign_card', event_payload: { delivery } });

  it('posts where the look-up finds nothing', async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    expect((await channel.send(outgoing(channel, { attempt: 2 }))).kind).toBe('sent');
    expect(slack.messages()).toHaveLength(1);
  });

  it.each(['ratelimited', '500', 'missing_scope', 'reset'])(
    'never posts while the look-up fails: %s',
    async (fault) => {
      const channel = slackChannel({ apiUrl: slack.url });
      slack.faults.next('conversations.history', fault);
      const outcome = await channel.send(outgoing(channel, { attempt: 2 }));
      expect(['uncertain', 'retry']).toContain(outcome.kind);
      expect(slack.messages()).toEqual([]);
    },
  );

  it('finds its card behind hundreds of later messages, and brings it up to date', async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    const delivery = outgoing(channel);
    slack.faults.next('chat.postMessage', 'reset-after-accept');
    await channel.send(delivery);
    for (let count = 0; count < 450; count += 1) slack.postAsAnotherApp({ text: 'chatter' });
    const newer = outgoing(channel, { card: slackCard({ title: 'Newer' }), id: delivery.id, attempt: 2 });
    const found = await channel.send(newer);
    expect(found).toEqual({ kind: 'sent', messageId: slack.messages()[0]?.ts });
    expect(slack.messages()[0]).toMatchObject({ text: 'Newer', ours: true });
    expect(slack.messages().filter((message) => message.ours)).toHaveLength(1);
  });

  it('does not post where the channel is too busy to be read to the end', async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    for (let count = 0; count < 1001; count += 1) slack.postAsAnotherApp({ text: 'chatter' });
    expect((await channel.send(outgoing(channel, { attempt: 2 }))).kind).toBe('uncertain');
    expect(slack.messages().some((message) => message.ours)).toBe(false);
  });

  it("does not take another app's copy of the metadata for its own card", async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    const delivery = outgoing(channel, { attempt: 2 });
    const copy = slack.postAsAnotherApp({ text: 'APPROVED', metadata: metadata(delivery.id) });
    const outcome = await channel.send(delivery);
    expect(outcome.kind).toBe('sent');
    expect(outcome).not.toMatchObject({ messageId: copy.ts });
  });

  it("does not take another delivery's card for its own", async () => {
    const channel = slackChannel({ apiUrl: slack.url });
    const first = await channel.send(outgoing(channel));
    const second = await channel.send(outgoing(channel, { attempt: 2 }));
    expect(second.kind).toBe('sent');
    expect(second).not.toEqual(first);
  });
});

describe('the Slack channel keeps its secrets', () => {
  it('out of log, health and outcomes, whatever goes wrong', async () => {
    const slack = await startSlackStandin({ ...SLACK, users: [], callbackUrl: 'http://127.0.0.1:9/unused' });
    const log: string[] = [];
    const said: unknown[] = [];
    for (const fault of ['invalid_auth', '500', 'reset', 'ratelimited', SLACK.botToken]) {
      slack.faults.next('auth.test', fault);
      slack.faults.next('chat.postMessage', fault);
      const channel = slackChannel({ apiUrl: slack.url, log });
      await channel.start();
      await until(() => channel.health().detail !== 'not checked yet');
      said.push(channel.health(), await channel.send(outgoing(channel)));
      await channel.stop();
    }
    await slack.stop();
    const everything = JSON.stringify([log, said]);
    expect(log.length).toBeGreaterThan(0);
    expect(everything).not.toContain(SLACK.botToken);
    expect(everything).not.toContain(SLACK.signingSecret);
    expect(everything).not.toContain('68000.00');
  });
});
