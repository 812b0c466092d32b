import { systemClock } from '../clock.ts';
import { LinedUpFaults } from '../standin/lined-up-faults.ts';
import { addSlackActions, drawnSlack } from '../standin/page/drawn-slack.ts';
import { SLACK_CALLS, slackFaultOf } from '../standin/slack/fault-of-kind.ts';
import type { SlackConnection } from '../standin/slack/socket-mode.ts';
import { startSlackStandin } from '../standin/slack/start-slack-standin.ts';
import type { PlayedPlatform } from './standin.ts';

export const SLACK_STANDIN = { people: ['U0LIWEI', 'U0WANG', 'U0GUEST'] } as const;

/** The guest is in the channel, and nobody the service knows. */
const NAMES: Readonly<Record<string, string>> = { U0LIWEI: '李伟', U0WANG: '王芳', U0GUEST: 'Guest' };

const APP = {
  botToken: 'xoxb-standin',
  signingSecret: 'standin-signing-secret',
  appId: 'A0STANDIN',
  team: 'T0STANDIN',
  channel: 'C0STANDIN',
} as const;
const APP_TOKEN = 'xapp-standin';

const FOLLOWS_WITHIN_MS = 3_000;

/** Slack, played on the terminal and a page. A form that a tap on the terminal opens is submitted with a fixed reason. */
export async function playSlack(input: {
  readonly port: number;
  readonly service: string;
  /** Socket Mode. */
  readonly connects: boolean;
}): Promise<PlayedPlatform> {
  const slack = await startSlackStandin({
    ...APP,
    users: SLACK_STANDIN.people.map((id) => ({ id, name: NAMES[id] ?? id })),
    callbackUrl: `${input.service}/channels/standin-slack/callback`,
    ...(input.connects && { appToken: APP_TOKEN }),
    port: input.port,
  });
  const { sockets } = slack;
  const faults = new LinedUpFaults(SLACK_CALLS, () => systemClock.now());
  slack.faults.follow((method) => {
    const kind = faults.take(method);
    return kind && slackFaultOf(kind);
  });
  const proof = sockets ? `mode: socket, appToken: ${APP_TOKEN}` : `signingSecret: ${APP.signingSecret}`;
  const all = () => [
    ...slack.messages(),
    ...SLACK_STANDIN.people.flatMap((person) => slack.directMessagesOf(person)),
  ];
  return {
    platform: 'slack',
    people: SLACK_STANDIN.people.map((id) => ({ id, name: NAMES[id] ?? id })),
    chats: () => drawnSlack(slack, SLACK_STANDIN.people),
    addActions: (page) => addSlackActions(page, slack, SLACK_STANDIN.people),
    faults,
    settings: `channels:
  - { id: standin-slack, kind: slack, apiUrl: "${slack.url}", botToken: ${APP.botToken}, ${proof}, team: ${APP.team}, appId: ${APP.appId}, channel: ${APP.channel} }
people:
  - { id: li.wei, name: 李伟, slack: { team: ${APP.team}, user: U0LIWEI } }
  - { id: wang.fang, name: 王芳, slack: { team: ${APP.team}, user: U0WANG } }`,
    show: () => [
      ...all().map(({ channel, text }, index) => `${index + 1}. [${channel}] ${onOneLine(text)}`),
      ...SLACK_STANDIN.people.flatMap((person) =>
        slack.ephemeralsOf(person).map(({ text }) => `   (only ${person} sees:) ${onOneLine(text)}`),
      ),
    ],
    async tap({ message, action, person }) {
      const ts = all()[message - 1]?.ts;
      if (ts === undefined) return `There is no message ${message}.`;
      const told = slack.ephemeralsOf(person).length;
      const tapped = await slack.tap({ user: person, ts, actionId: `countersign.${action}` });
      if (tapped.shownAsError) return 'Slack shows a warning sign: the service did not answer.';
      // A form, or a word to this person alone, comes a moment after the answer.
      const isFollowed = () => slack.modalOf(person) !== null || slack.ephemeralsOf(person).length > told;
      await followed(isFollowed, slack.onChange);
      if (slack.modalOf(person) === null) return 'Tapped.';
      await slack.submitModal({ user: person, reason: 'typed at the stand-in' });
      return 'Tapped, and the form is submitted.';
    },
    cut: sockets && (() => cutAll(sockets.connections())),
    onChange: slack.onChange,
    stop: slack.stop,
  };
}

/** Until it is so, or nothing has come for a while. */
function followed(isFollowed: () => boolean, onChange: (listener: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unsubscribe();
      resolve();
    };
    const timer = setTimeout(end, FOLLOWS_WITHIN_MS);
    const unsubscribe = onChange(() => {
      if (isFollowed()) end();
    });
    if (isFollowed()) end();
  });
}

function cutAll(connections: readonly SlackConnection[]): number {
  for (const connection of connections) connection.cut();
  return connections.length;
}

const onOneLine = (text: string): string => text.replaceAll('\n', ' ');
