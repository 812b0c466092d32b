import { createServer } from 'node:http';
import type { ChannelAnswer, InboundRequest } from '../../../src/channel/channel.ts';
import { SETTLE_ACTIONS, type TapEvent } from '../../../src/channel/inbound-event.ts';
import { type SignedCallback, signCallback } from '../../../src/standin/slack/send-callback.ts';
import type { SlackConnection } from '../../../src/standin/slack/socket-mode.ts';
import { type SlackStandin, startSlackStandin } from '../../../src/standin/slack/start-slack-standin.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';
import {
  askForReason,
  type ChannelRig,
  captureEvents,
  httpCallback,
  type LookUpFault,
  type RigTap,
  type SendFault,
  type ShownMessage,
} from '../channel-rig.ts';
import { SLACK, SLACK_APP_TOKEN, slackChannel } from './fixture.ts';

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
  const { slack, ...rig } = await startRig({ mode: 'http' });
  const { channel, clock } = rig;
  const press = (tap: RigTap) => slack.tap(tapOf(tap));
  const request = async (tap: RigTap) => {
    await press(tap);
    return lastOf(slack);
  };
  return {
    ...rig,
    tap: async (tap) => httpCallback(channel, await request(tap)),
    async tapWithReason({ reason, ...tap }) {
      await askForReason(channel, await httpCallback(channel, await request(tap)).arrive());
      await slack.submitModal({ user: LI_WEI.id, reason });
      return httpCallback(channel, lastOf(slack));
    },
    wayIn: {
      kind: 'webhook',
      proofHeaders: ['x-slack-signature', 'x-slack-request-timestamp'],
      request,
      async requestOfAnotherApp() {
        const payload = { type: 'block_actions', actions: [{ action_id: 'countersign.approve' }] };
        return asRequest(signCallback({ payload, signingSecret: 'another-secret', nowMs: clock.now() }));
      },
    },
  };
}

/** The same over Socket Mode, with two connections standing. */
export async function startSlackSocketRig(): Promise<ChannelRig & { readonly slack: SlackStandin }> {
  const { slack, ...rig } = await startRig({ mode: 'socket' });
  const { channel } = rig;
  const core = captureEvents();
  channel.connection?.open(core.handler);
  await until(() => channel.connection?.status().open === 2);
  const platform = () => {
    if (slack.sockets === null) throw new Error('there are no sockets');
    return slack.sockets;
  };
  const eachConnection = (act: (connection: SlackConnection) => void) => () => {
    for (const connection of platform().connections()) act(connection);
  };
  const cutAll = eachConnection((connection) => connection.cut());
  const lastAgain = { arrive: () => core.tapFrom(() => slack.replay()) };
  return {
    ...rig,
    slack,
    async tap(tap) {
      await slack.tap(tapOf(tap));
      return lastAgain;
    },
    async tapWithReason({ reason, ...tap }) {
      await askForReason(channel, await core.tapFrom(() => slack.tap(tapOf(tap))));
      await slack.submitModal({ user: LI_WEI.id, reason });
      return lastAgain;
    },
    wayIn: {
      kind: 'connection',
      faults: {
        'the platform ends them': eachConnection((connection) => connection.close()),
        'the network breaks': cutAll,
        'nothing goes through any more': eachConnection((connection) => connection.freeze()),
        'the platform asks for new ones': eachConnection((connection) =>
          connection.disconnect('refresh_requested'),
        ),
        'there are too many': eachConnection((connection) => {
          connection.disconnect('too_many_websockets');
          connection.close();
        }),
        'the app may not connect': () => {
          eachConnection((connection) => connection.disconnect('link_disabled'))();
          for (let call = 0; call < 3; call += 1) slack.faults.next('apps.connections.open', 'invalid_auth');
          cutAll();
        },
        'the platform lets nobody in for a while': () => {
          for (const fault of ['reset', '500', 'ratelimited', 'internal_error'])
            slack.faults.next('apps.connections.open', fault);
          cutAll();
        },
        'upgrades are refused': () => {
          platform().refuseUpgrades(3);
          cutAll();
        },
        'nobody says hello': () => {
          platform().keepSilent(2);
          cutAll();
        },
      },
      async press(tap) {
        return (await slack.tap(tapOf(tap))).shownAsError ? 'error' : 'answered';
      },
      holdAnswers: core.holdAnswers,
      received: () => core.events.length,
    },
  };
}

async function startRig({ mode }: { readonly mode: 'http' | 'socket' }) {
  // The id of a delivery holds the time at which it was made, and the look-up reads the history from then on. On a whole
  // second, as signatures are dated.
  const clock = new ManualClock(Math.floor(Date.now() / 1_000) * 1_000);
  const sink = await startSink();
  const { appToken, ...app } = { ...SLACK, appToken: SLACK_APP_TOKEN };
  const slack = await startSlackStandin({
    ...app,
    ...(mode === 'socket' && { appToken }),
    users: [LI_WEI, ZHAO_MIN],
    callbackUrl: sink.url,
    clock,
  });
  const settings = mode === 'socket' ? { mode, appToken, signingSecret: '' } : { mode };
  const channel = slackChannel({ apiUrl: slack.url, clock, locale: 'zh-CN', settings });
  await channel.start();
  let platformStopped: Promise<void> | null = null;
  const stopPlatform = () => {
    platformStopped ??= slack.stop();
    return platformStopped;
  };
  return {
    slack,
    channel,
    clock,
    personIds: { user: LI_WEI.id },
    async told(_event: TapEvent, { afterwards }: ChannelAnswer): Promise<readonly string[]> {
      const before = slack.ephemeralsOf(LI_WEI.id).length;
      await afterwards?.();
      return slack
        .ephemeralsOf(LI_WEI.id)
        .slice(before)
        .map(({ text }) => text);
    },
    shown: () => slack.messages().map(asShown),
    failNextSend: (fault: SendFault) => slack.faults.next('chat.postMessage', SEND_FAULTS[fault]),
    failNextUpdate: (fault: 'rate-limited' | 'refused') =>
      slack.faults.next('chat.update', fault === 'refused' ? 'message_not_found' : 'ratelimited'),
    directory: {
      actor: gridActor(ZHAO_MIN.grid.user),
      resolved: { tenant: SLACK.team, ids: { user: ZHAO_MIN.id, email: 'zhao.min@acme.example' } },
      stranger: gridActor('W0STRANGER'),
      failNextLookUp: (fault: LookUpFault) => slack.faults.next('users.info', DIRECTORY_FAULTS[fault]),
    },
    stopPlatform,
    async stop() {
      await channel.stop();
      await stopPlatform();
      await sink.close();
    },
  };
}

const tapOf = ({ messageId, action }: RigTap) => ({
  user: LI_WEI.id,
  ts: messageId,
  actionId: `countersign.${action}`,
});

const SEND_FAULTS: Readonly<Record<SendFault, string>> = {
  refused: 'is_archived',
  'rate-limited': 'ratelimited',
  'cut-after-accepting': 'reset-after-accept',
  'server-error-after-accepting': '500-after-accept',
};

const DIRECTORY_FAULTS = {
  'rate-limited': 'ratelimited',
  refused: 'missing_scope',
  'server-error': '500',
  cut: 'reset',
  nonsense: { answer: { ok: true, user: { id: 7 } } },
  'somebody-else': { answer: { ok: true, user: { id: 'U0OTHER', team_id: SLACK.team } } },
} as const satisfies Record<LookUpFault, unknown>;

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
