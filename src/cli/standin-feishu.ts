import { systemClock } from '../clock.ts';
import { FEISHU_CALLS, feishuFaultOf } from '../standin/feishu/fault-of-kind.ts';
import type { LongConnection } from '../standin/feishu/long-connections.ts';
import { startFeishuStandin } from '../standin/feishu/start-feishu-standin.ts';
import { LinedUpFaults } from '../standin/lined-up-faults.ts';
import { addFeishuActions, drawnFeishu } from '../standin/page/drawn-feishu.ts';
import type { PlayedPlatform } from './standin.ts';

export const FEISHU_STANDIN = { people: ['ou_liwei', 'ou_wang', 'ou_guest'] } as const;

/** The guest is in the group, and nobody the service knows. */
const NAMES: Readonly<Record<string, string>> = { ou_liwei: '李伟', ou_wang: '王芳', ou_guest: 'Guest' };

const APP = {
  appId: 'cli_a1b2c3d4e5f60718',
  appSecret: 'standin-app-secret',
  encryptKey: 'standin-encrypt-key',
  verificationToken: 'standin-verification-token',
  tenant: 'standin',
  chat: 'oc_standin',
} as const;

/** Feishu, played on the terminal and a page. */
export async function playFeishu(input: {
  readonly port: number;
  readonly service: string;
  /** Long connections. */
  readonly connects: boolean;
}): Promise<PlayedPlatform> {
  const feishu = await startFeishuStandin({
    ...APP,
    users: FEISHU_STANDIN.people.map((openId) => ({
      openId,
      unionId: openId.replace('ou_', 'on_'),
      name: NAMES[openId] ?? openId,
    })),
    callbackUrl: `${input.service}/channels/standin-feishu/callback`,
    longConnection: input.connects,
    port: input.port,
  });
  const { longConnections } = feishu;
  const faults = new LinedUpFaults(FEISHU_CALLS, () => systemClock.now());
  feishu.faults.follow((operation) => {
    const kind = faults.take(operation);
    return kind && feishuFaultOf(kind, operation);
  });
  const proof = longConnections ? 'mode: long-connection' : `encryptKey: ${APP.encryptKey}`;
  const all = () => [
    ...feishu.messages(),
    ...FEISHU_STANDIN.people.flatMap((person) => feishu.directMessagesOf(person)),
  ];
  return {
    platform: 'feishu',
    people: FEISHU_STANDIN.people.map((id) => ({ id, name: NAMES[id] ?? id })),
    chats: () => drawnFeishu(feishu, FEISHU_STANDIN.people),
    addActions: (page) => addFeishuActions(page, feishu, FEISHU_STANDIN.people),
    faults,
    settings: `channels:
  - { id: standin-feishu, kind: feishu, domain: "${feishu.url}", appId: ${APP.appId}, appSecret: ${APP.appSecret}, ${proof}, verificationToken: ${APP.verificationToken}, tenant: ${APP.tenant}, chat: ${APP.chat} }
people:
  - { id: li.wei, name: 李伟, feishu: { tenant: ${APP.tenant}, openId: ou_liwei } }
  - { id: wang.fang, name: 王芳, feishu: { tenant: ${APP.tenant}, openId: ou_wang } }`,
    show: () => all().map(({ chat, card }, index) => `${index + 1}. [${chat}] ${titleOf(card)}`),
    async tap({ message, action, person }) {
      const messageId = all()[message - 1]?.messageId;
      if (messageId === undefined) return `There is no message ${message}.`;
      const result = await feishu.tap({
        openId: person,
        messageId,
        element: ({ name, value }) => `${name ?? ''}${JSON.stringify(value)}`.includes(action),
        formValue: { reason: 'typed at the stand-in' },
      });
      return JSON.stringify(result);
    },
    cut: longConnections && (() => cutAll(longConnections.connections())),
    onChange: feishu.onChange,
    stop: feishu.stop,
  };
}

function cutAll(connections: readonly LongConnection[]): number {
  for (const connection of connections) connection.cut();
  return connections.length;
}

/** The headline, wherever a card carries it. */
function titleOf(card: unknown): string {
  const content = /"title":\{[^}]*?"content":"((?:[^"\\]|\\.)*)"/.exec(JSON.stringify(card))?.[1];
  return content === undefined ? '(a note)' : content;
}
