import { createServer } from 'node:http';
import type { Channel, InboundRequest } from '../../../src/channel/channel.ts';
import { SETTLE_ACTIONS, type TapEvent } from '../../../src/channel/inbound-event.ts';
import { type SignedCallback, signCallback } from '../../../src/standin/slack/send-callback.ts';
import { type SlackStandin, startSlackStandin } from '../../../src/standin/slack/start-slack-standin.ts';
import type { ChannelRig, SendFault, ShownMessage } from '../channel-contract.ts';
import { ManualClock } from '../manual-clock.ts';
import { SLACK, slackChannel } from './fixture.ts';

const LI_WEI = { id: 'U0LIWEI', name: '李伟' };

const ZHAO_MIN = {
  id: 'U0ZHAO',
  name: '赵敏',
  email: 'Zhao.Min@acme.example',
  grid: { organization: 'E0GROUP', user: 'W0ZHAO', teams: [SLACK.team, 'T0OTHER'] },
} as const;
const gridActor = (user: string) =>
  ({ provider: 'slack', tenant: 'E0GROUP', ids: { user }, isBot: false }) as const;

/** The real channel on a stand-in of the platform, both on one manual clock. */
export async function startSlackRig(): Promise<ChannelRig> {
  const clock = new ManualClock();
  const sink = await startSink();
  const slack = await startSlackStandin({
    ...SLACK,
    users: [LI_WEI, ZHAO_MIN],
    callbackUrl: sink.url,
    clock,
  });
  const channel = slackChannel({ apiUrl: slack.url, clock, locale: 'zh-CN' });
  await channel.start();
  let platformStopped: Promise<void> | null = null;
  const stopPlatform = () => {
    platformStopped ??= slack.stop();
    return platformStopped;
  };

  return {
    channel,
    clock,
    personIds: { user: LI_WEI.id },
    proofHeaders: ['x-slack-signature', 'x-slack-request-timestamp'],
    async tap({ messageId, action }) {
      await slack.tap({ user: LI_WEI.id, ts: messageId, actionId: `countersign.${action}` });
      return lastOf(slack);
    },
    async tapWithReason({ messageId, action, reason }) {
      await slack.tap({ user: LI_WEI.id, ts: messageId, actionId: `countersign.${action}` });
      await openModal(channel, lastOf(slack));
      await slack.submitModal({ user: LI_WEI.id, reason });
      return lastOf(slack);
    },
    async tapOfAnotherApp() {
      const payload = { type: 'block_actions', actions: [{ action_id: 'countersign.approve' }] };
      return asRequest(signCallback({ payload, signingSecret: 'another-secret', nowMs: clock.now() }));
    },
    async told(_event, { afterwards }) {
      const before = slack.ephemeralsOf(LI_WEI.id).length;
      await afterwards?.();
      return slack
        .ephemeralsOf(LI_WEI.id)
        .slice(before)
        .map(({ text }) => text);
    },
    shown: () => slack.messages().map(asShown),
    failNextSend: (fault) => slack.faults.next('chat.postMessage', SEND_FAULTS[fault]),
    failNextUpdate: (fault) =>
      slack.faults.next('chat.update', fault === 'refused' ? 'message_not_found' : 'ratelimited'),
    otherwiseKnown: {
      actor: gridActor(ZHAO_MIN.grid.user),
      resolved: { tenant: SLACK.team, ids: { user: ZHAO_MIN.id, email: 'zhao.min@acme.example' } },
      stranger: gridActor('W0STRANGER'),
    },
    failNextLookUp: (fault) => slack.faults.next('users.info', LOOK_UP_FAULTS[fault]),
    stopPlatform,
    async stop() {
      await channel.stop();
      await stopPlatform();
      await sink.close();
    },
  };
}

const SEND_FAULTS: Readonly<Record<SendFault, string>> = {
  refused: 'is_archived',
  'rate-limited': 'ratelimited',
  'cut-after-accepting': 'reset-after-accept',
  'server-error-after-accepting': '500-after-accept',
};

const LOOK_UP_FAULTS = {
  'rate-limited': 'ratelimited',
  refused: 'missing_scope',
  'server-error': '500',
  cut: 'reset',
  nonsense: { answer: { ok: true, user: { id: 7 } } },
  'somebody-else': { answer: { ok: true, user: { id: 'U0OTHER', team_id: SLACK.team } } },
} as const;

/** What the core would do where a reason is asked for. */
async function openModal(channel: Channel, request: InboundRequest): Promise<void> {
  const result = await channel.receive(request);
  if (result.kind !== 'event' || result.event.type !== 'tap') throw new Error('not a tap');
  const event: TapEvent = result.event;
  if (event.action === 'revoke') throw new Error('a revocation is never asked for a reason');
  const text = { 'zh-CN': '理由', 'en-US': 'Reason' };
  const { afterwards } = channel.reply(event, {
    kind: 'ask-reason',
    action: event.action,
    confirmation: event.confirmation ?? '',
    token: event.token ?? '',
    title: text,
    label: text,
    submit: text,
    cancel: text,
    recap: { 'zh-CN': [], 'en-US': [] },
    failure: { level: 'error', text },
  });
  await afterwards?.();
}

function asShown({ ts, blocks }: { readonly ts: string; readonly blocks: unknown }): ShownMessage {
  const actionIds = valuesOf(blocks, 'action_id');
  const actions = (['approve', 'reject', 'revoke', ...SETTLE_ACTIONS] as const).filter((action) =>
    actionIds.includes(`countersign.${action}`),
  );
  return { messageId: ts, text: valuesOf(blocks, 'text').join('\n'), actions };
}

/** Every string under `key`, however deep, in reading order. */
function valuesOf(value: unknown, key: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => valuesOf(one, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === key && typeof inner === 'string' ? [inner] : valuesOf(inner, key),
  );
}

function lastOf(slack: SlackStandin): InboundRequest {
  const callback = slack.lastCallback();
  if (callback === null) throw new Error('Slack has sent no callback');
  return asRequest(callback);
}

const asRequest = ({ headers, body }: SignedCallback): InboundRequest => ({
  headers,
  body: Buffer.from(body),
});

/** Takes callbacks and says nothing: the tests hand them to the channel themselves. */
async function startSink() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`;
  return { url, close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()) };
}
