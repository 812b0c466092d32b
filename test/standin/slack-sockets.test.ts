import { App } from '@slack/bolt';
import { SocketModeClient } from '@slack/socket-mode';
import { type Logger, LogLevel } from '@slack/web-api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type SlackStandin, startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';
import { until } from '../support/until.ts';
import { WORKSPACE } from './slack-workspace.ts';

// The stand-in's sockets are only worth as much as clients that nobody here wrote take them for Slack's: the official
// client of Socket Mode, and Bolt.

const quiet: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => LogLevel.ERROR,
  setName: () => {},
};
const CONNECTING = { ...WORKSPACE, appToken: 'xapp-standin' };
const BLOCKS = [
  {
    type: 'actions',
    block_id: 'decide',
    elements: [
      { type: 'button', action_id: 'approve', text: { type: 'plain_text', text: '批准' }, value: '付款 🚀' },
    ],
  },
];
const MODAL = {
  type: 'modal' as const,
  callback_id: 'reason',
  title: { type: 'plain_text' as const, text: 'Why?' },
  submit: { type: 'plain_text' as const, text: 'Send' },
  blocks: [
    {
      type: 'input' as const,
      block_id: 'why',
      label: { type: 'plain_text' as const, text: 'Why?' },
      element: { type: 'plain_text_input' as const, action_id: 'text' },
    },
  ],
};

let slack: SlackStandin;
beforeEach(async () => {
  slack = await startSlackStandin({ ...CONNECTING, callbackUrl: 'http://127.0.0.1:9/' });
});
afterEach(() => slack.stop());

const sockets = () => {
  if (slack.sockets === null) throw new Error('there are no sockets');
  return slack.sockets;
};
/** Posts as the app would. */
async function postCard(): Promise<string> {
  const response = await fetch(`${slack.url}chat.postMessage`, {
    method: 'POST',
    headers: { authorization: `Bearer ${CONNECTING.botToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ channel: CONNECTING.channel, text: 'card', blocks: BLOCKS }),
  });
  return ((await response.json()) as { ts: string }).ts;
}

describe('the official client of Socket Mode', () => {
  const client = (appToken = CONNECTING.appToken) =>
    new SocketModeClient({
      appToken,
      logger: quiet,
      autoReconnectEnabled: false,
      clientOptions: { slackApiUrl: slack.url, retryConfig: { retries: 0 } },
    });

  it('connects, takes a tap, acknowledges it and ends when it is asked to', async () => {
    const socket = client();
    const bodies: unknown[] = [];
    socket.on('interactive', async ({ ack, body }) => {
      bodies.push(body);
      await ack();
    });
    await socket.start();
    expect(sockets().connections()).toHaveLength(1);
    const ts = await postCard();
    const result = await slack.tap({ user: 'U0LIWEI', ts, actionId: 'approve' });
    expect(result).toMatchObject({ status: 200, body: '', shownAsError: false });
    expect(bodies).toMatchObject([
      { type: 'block_actions', user: { id: 'U0LIWEI' }, actions: [{ value: '付款 🚀' }] },
    ]);
    const ended = new Promise((resolve) => socket.once('disconnected', resolve));
    sockets().connections()[0]?.disconnect('refresh_requested');
    await ended;
    await until(() => sockets().connections().length === 0);
  });

  it('is refused with another token', async () => {
    await expect(client('xapp-wrong').start()).rejects.toThrow('invalid_auth');
    await expect(client(CONNECTING.botToken).start()).rejects.toThrow('invalid_auth');
  });
});

describe('Bolt over sockets', () => {
  it('takes a tap, opens a form and answers it over the socket', async () => {
    const app = new App({
      token: CONNECTING.botToken,
      appToken: CONNECTING.appToken,
      socketMode: true,
      botId: 'B0BOT',
      botUserId: 'U0BOT',
      logger: quiet,
      clientOptions: { slackApiUrl: slack.url },
    });
    app.action('approve', async ({ ack, body, client }) => {
      await ack();
      if ('trigger_id' in body) await client.views.open({ trigger_id: body.trigger_id, view: MODAL });
    });
    app.view('reason', async ({ ack, view }) => {
      const reason = view.state.values.why?.text?.value ?? '';
      if (reason.length < 3) await ack({ response_action: 'errors', errors: { why: 'Too short' } });
      else await ack({ response_action: 'clear' });
    });
    await app.start();
    try {
      await slack.tap({ user: 'U0LIWEI', ts: await postCard(), actionId: 'approve' });
      await until(() => slack.modalOf('U0LIWEI'));
      await slack.submitModal({ user: 'U0LIWEI', reason: 'no' });
      expect(slack.modalOf('U0LIWEI')?.errors).toEqual({ why: 'Too short' });
      await slack.submitModal({ user: 'U0LIWEI', reason: 'the amount is wrong' });
      expect(slack.modalOf('U0LIWEI')).toBeNull();
    } finally {
      await app.stop();
    }
  });
});

describe('the sockets of the stand-in', () => {
  const address = async () => {
    const response = await fetch(`${slack.url}apps.connections.open`, {
      method: 'POST',
      headers: { authorization: `Bearer ${CONNECTING.appToken}` },
    });
    return ((await response.json()) as { url: string }).url;
  };
  /** Whether it got as far as `hello`, and what came after. */
  const connect = (url: string) =>
    new Promise<readonly string[]>((resolve) => {
      const types: string[] = [];
      const socket = new WebSocket(url);
      socket.on('message', (data) => {
        types.push(JSON.parse(data.toString()).type);
        socket.close();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(types));
    });

  it('let a ticket in once, and nothing else', async () => {
    const url = await address();
    expect(await connect(url)).toEqual(['hello']);
    expect(await connect(url)).toEqual([]);
    expect(await connect(url.replace(/ticket=[^&]*/, 'ticket=guessed'))).toEqual([]);
  });

  it('show the person an error while the app has none', async () => {
    expect(await slack.tap({ user: 'U0LIWEI', ts: await postCard(), actionId: 'approve' })).toMatchObject({
      status: null,
      shownAsError: true,
    });
  });

  it('are ten at most', async () => {
    const open = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const socket = new WebSocket(await address());
        await new Promise((resolve) => socket.once('message', resolve));
        return socket;
      }),
    );
    expect(await connect(await address())).toEqual(['disconnect']);
    for (const socket of open) socket.terminate();
  });
});
