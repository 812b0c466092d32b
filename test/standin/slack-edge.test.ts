import { createServer, type Server } from 'node:http';
import { SlackAPIClient, SlackApp } from 'slack-edge';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SlackStandin, startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { WORKSPACE } from './slack-workspace.ts';

const card = (actionId: string) => [
  {
    type: 'actions' as const,
    block_id: 'decide',
    elements: [
      {
        type: 'button' as const,
        action_id: actionId,
        text: { type: 'plain_text' as const, text: '批准' },
        value: '付款 + 100% 🚀 &=',
      },
    ],
  },
];

const MODAL = {
  type: 'modal' as const,
  callback_id: 'reason',
  title: { type: 'plain_text' as const, text: 'Reason' },
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

/** A framework with a Web API client, a verifier and a dispatch of its own, apart from those that Slack publishes. */
describe('the Slack stand-in under slack-edge', () => {
  let slack: SlackStandin;
  let server: Server;
  let client: SlackAPIClient;
  const seen: unknown[] = [];

  const clientWith = (token: string) => new SlackAPIClient(token, { baseUrl: slack.url });
  const startApp = (signingSecret: string) => {
    const app = new SlackApp({
      env: {
        SLACK_SIGNING_SECRET: signingSecret,
        SLACK_BOT_TOKEN: WORKSPACE.botToken,
        SLACK_LOGGING_LEVEL: 'ERROR',
      },
      // Its own would ask slack.com.
      authorize: async () => ({ botId: 'B0', botUserId: 'U0', botToken: WORKSPACE.botToken, botScopes: [] }),
    });
    return app
      .action('approve', async ({ payload }) => {
        const [action] = payload.actions;
        seen.push({ value: action && 'value' in action ? action.value : null, user: payload.user.id });
      })
      .action(
        'reject',
        async () => {},
        async ({ payload }) => {
          await client.views.open({ trigger_id: payload.trigger_id, view: MODAL });
        },
      )
      .viewSubmission('reason', async ({ payload }) => {
        const text = payload.view.state.values.why?.text?.value ?? '';
        seen.push({ text });
        return text === 'short'
          ? { response_action: 'errors', errors: { why: 'Say more.' } }
          : { response_action: 'clear' };
      });
  };

  beforeAll(async () => {
    const port = await freePort();
    slack = await startSlackStandin({ ...WORKSPACE, callbackUrl: `http://127.0.0.1:${port}/slack/events` });
    const [knows, guesses] = [startApp(WORKSPACE.signingSecret), startApp('another secret')];
    client = clientWith(WORKSPACE.botToken);
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const asked = () =>
        new Request(`http://127.0.0.1:${port}${request.url}`, {
          method: 'POST',
          headers: Object.entries(request.headers).map(([name, value]): [string, string] => [
            name,
            `${value}`,
          ]),
          body: Buffer.concat(chunks),
        });
      seen.push((await guesses.run(asked())).status);
      const answer = await knows.run(asked());
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await slack.stop();
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
  });

  const post = async (actionId: string) => {
    seen.length = 0;
    const posted = await client.chat.postMessage({
      channel: WORKSPACE.channel,
      text: 'x',
      blocks: card(actionId),
    });
    return posted.ts ?? '';
  };

  it('sends taps that it verifies by the secret alone, and takes its answer', async () => {
    const ts = await post('approve');
    expect(await slack.tap({ user: 'U0LIWEI', ts, actionId: 'approve' })).toMatchObject({
      status: 200,
      shownAsError: false,
    });
    expect(seen).toEqual([401, { value: '付款 + 100% 🚀 &=', user: 'U0LIWEI' }]);
    await client.chat.update({ channel: WORKSPACE.channel, ts, text: 'done', blocks: card('other') });
    expect(slack.messages().find((message) => message.ts === ts)?.text).toBe('done');
  });

  it('opens its modals and follows what it answers to them', async () => {
    await slack.tap({ user: 'U0LIWEI', ts: await post('reject'), actionId: 'reject' });
    await until(() => slack.modalOf('U0LIWEI'));
    await slack.submitModal({ user: 'U0LIWEI', reason: 'short' });
    expect(slack.modalOf('U0LIWEI')?.errors).toEqual({ why: 'Say more.' });
    await slack.submitModal({ user: 'U0LIWEI', reason: 'a good reason' });
    expect(slack.modalOf('U0LIWEI')).toBeNull();
    expect(seen).toContainEqual({ text: 'a good reason' });
  });

  it('refuses a token as Slack does', async () => {
    const stranger = clientWith('xoxb-of-nobody');
    await expect(stranger.chat.postMessage({ channel: WORKSPACE.channel, text: 'x' })).rejects.toThrow(
      /invalid_auth/,
    );
  });
});
