import { startSlackStandin } from '../standin/slack/start-slack-standin.ts';
import type { PlayedPlatform } from './standin.ts';

export const SLACK_STANDIN = { people: ['U0LIWEI', 'U0WANG'] } as const;

const APP = {
  botToken: 'xoxb-standin',
  signingSecret: 'standin-signing-secret',
  appId: 'A0STANDIN',
  team: 'T0STANDIN',
  channel: 'C0STANDIN',
} as const;

/** Slack, played on the terminal. A form that a tap opens is submitted with a fixed reason. */
export async function playSlack(input: {
  readonly port: number;
  readonly service: string;
}): Promise<PlayedPlatform> {
  const slack = await startSlackStandin({
    ...APP,
    users: SLACK_STANDIN.people.map((id) => ({ id, name: id })),
    callbackUrl: `${input.service}/channels/standin-slack/callback`,
    port: input.port,
  });
  const all = () => [
    ...slack.messages(),
    ...SLACK_STANDIN.people.flatMap((person) => slack.directMessagesOf(person)),
  ];
  return {
    settings: `channels:
  - { id: standin-slack, kind: slack, apiUrl: "${slack.url}", botToken: ${APP.botToken}, signingSecret: ${APP.signingSecret}, team: ${APP.team}, appId: ${APP.appId}, channel: ${APP.channel} }
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
      await slack.tap({ user: person, ts, actionId: `countersign.${action}` });
      if (slack.modalOf(person)) await slack.submitModal({ user: person, reason: 'typed at the stand-in' });
      return 'Tapped.';
    },
    onChange: slack.onChange,
    stop: slack.stop,
  };
}

const onOneLine = (text: string): string => text.replaceAll('\n', ' ');
