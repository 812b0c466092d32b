import pino, { type Logger } from 'pino';
import { feishuChannelKind } from '../../../channels/feishu/index.ts';
import type { ChannelAnswer } from '../../../src/channel/channel.ts';
import { SETTLE_ACTIONS, type TapAction, type TapEvent } from '../../../src/channel/inbound-event.ts';
import { channelId } from '../../../src/ids.ts';
import type { JsonValue } from '../../../src/json.ts';
import type { StandinButton } from '../../../src/standin/feishu/card-buttons.ts';
import type { LongConnection } from '../../../src/standin/feishu/long-connections.ts';
import { signCallback } from '../../../src/standin/feishu/sign-callback.ts';
import { type FeishuStandin, startFeishuStandin } from '../../../src/standin/feishu/start-feishu-standin.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';
import {
  type ChannelRig,
  captureEvents,
  httpCallback,
  type LookUpFault,
  type RigTap,
  type SendFault,
} from '../channel-rig.ts';

export const APP = {
  appId: 'cli_a1b2c3d4e5f60718',
  appSecret: 'app-secret-of-the-test',
  encryptKey: 'encrypt-key-of-the-test',
  verificationToken: 'verification-token-of-the-test',
  tenant: '2f0acme',
  chat: 'oc_finance',
} as const;

export const LI_WEI = { openId: 'ou_liwei', unionId: 'on_liwei', userId: 'liwei', name: '李伟' } as const;

const ZHAO_MIN = {
  openId: 'ou_zhaomin',
  unionId: 'on_zhaomin',
  userId: 'zhaomin',
  email: 'Zhao.Min@acme.example',
  onlyOpenIdInCallbacks: true,
  name: '赵敏',
} as const;
const feishuActor = (openId: string) =>
  ({ provider: 'feishu', tenant: APP.tenant, ids: { openId }, isBot: false }) as const;

export interface FeishuRig extends ChannelRig {
  readonly standin: FeishuStandin;
}

/** The real channel on a stand-in of the platform, both on one manual clock. */
export async function startFeishuRig(logger = pino({ level: 'silent' })): Promise<FeishuRig> {
  const { standin, channel, ...rig } = await startRig({ logger, mode: 'webhook' });
  const request = async (tap: RigTap & { readonly reason?: string }) => standin.callbackOf(tapOf(tap));
  const tap = async (one: RigTap & { readonly reason?: string }) => httpCallback(channel, await request(one));
  return {
    ...rig,
    channel,
    standin,
    tap,
    tapWithReason: tap,
    wayIn: {
      kind: 'webhook',
      proofHeaders: ['x-lark-signature', 'x-lark-request-timestamp', 'x-lark-request-nonce'],
      request,
      requestOfAnotherApp: async () =>
        signCallback({ payload: {}, encryptKey: 'key of another app', nowMs: rig.clock.now() }),
    },
  };
}

/** The same over long connections, with two of them standing. */
export async function startFeishuConnectionRig(): Promise<FeishuRig> {
  const { standin, channel, ...rig } = await startRig({
    logger: pino({ level: 'silent' }),
    mode: 'long-connection',
  });
  const core = captureEvents();
  channel.connection?.open(core.handler);
  await until(() => channel.connection?.status().open === 2);
  const platform = () => {
    if (standin.longConnections === null) throw new Error('there are no long connections');
    return standin.longConnections;
  };
  const tap = async (one: RigTap & { readonly reason?: string }) => {
    const payload = standin.payloadOf(tapOf(one));
    const deliver = async () => platform().connections()[0]?.deliver(payload);
    return { arrive: () => core.tapFrom(deliver) };
  };
  const eachConnection = (act: (connection: LongConnection) => void) => () => {
    for (const connection of platform().connections()) act(connection);
  };
  return {
    ...rig,
    channel,
    standin,
    tap,
    tapWithReason: tap,
    wayIn: {
      kind: 'connection',
      faults: {
        'the platform ends them': eachConnection((connection) => connection.close()),
        'the network breaks': eachConnection((connection) => connection.cut()),
        'the platform is busy': () => {
          standin.faults.next('endpoint', ...Array(3).fill(ENDPOINT_FAULTS.busy));
          eachConnection((connection) => connection.cut())();
        },
        'the platform lets nobody in for a while': () => {
          const { unauthorized, cut, nonsense } = ENDPOINT_FAULTS;
          standin.faults.next('endpoint', unauthorized, unauthorized, cut, nonsense);
          eachConnection((connection) => connection.cut())();
        },
        'upgrades are refused': () => {
          platform().refuseUpgrades(3);
          eachConnection((connection) => connection.cut())();
        },
        'upgrades are not answered': () => {
          platform().keepSilent(2);
          eachConnection((connection) => connection.cut())();
        },
      },
      async press(one) {
        const shown = await standin.tap(tapOf(one));
        return shown.kind === 'client-error' ? 'error' : 'answered';
      },
      holdAnswers: core.holdAnswers,
      received: () => core.events.length,
    },
  };
}

async function startRig(input: { readonly logger: Logger; readonly mode: 'webhook' | 'long-connection' }) {
  const clock = new ManualClock();
  const standin = await startFeishuStandin({
    ...APP,
    users: [LI_WEI, ZHAO_MIN],
    callbackUrl: () => null,
    longConnection: input.mode === 'long-connection',
    clock,
  });
  const settings = feishuChannelKind.settings.parse({ ...APP, domain: standin.url, mode: input.mode });
  const id = channelId('pay-feishu');
  const { logger } = input;
  const channel = feishuChannelKind.create({ id, settings, locale: 'zh-CN', clock, logger });
  await channel.start();
  const stop = once(() => standin.stop());
  return {
    channel,
    clock,
    standin,
    personIds: { openId: LI_WEI.openId, unionId: LI_WEI.unionId, userId: LI_WEI.userId },
    told: async (_event: TapEvent, { answer }: ChannelAnswer): Promise<readonly string[]> => [
      JSON.parse(answer.body).toast.content,
    ],
    shown: () =>
      standin.messages().map(({ messageId, card }) => ({
        messageId,
        text: textsOf(card).join('\n'),
        actions: standin.buttons(messageId).flatMap(actionOf),
      })),
    failNextSend: (fault: SendFault) => standin.faults.next('create', SEND_FAULTS[fault]),
    failNextUpdate: (fault: 'rate-limited' | 'refused') => standin.faults.next('patch', SEND_FAULTS[fault]),
    directory: {
      actor: feishuActor(ZHAO_MIN.openId),
      resolved: {
        tenant: APP.tenant,
        ids: {
          openId: ZHAO_MIN.openId,
          unionId: ZHAO_MIN.unionId,
          userId: ZHAO_MIN.userId,
          email: 'zhao.min@acme.example',
        },
      },
      stranger: feishuActor('ou_stranger'),
      failNextLookUp: (fault: LookUpFault) => standin.faults.next('member', DIRECTORY_FAULTS[fault]),
    },
    stopPlatform: stop,
    async stop() {
      await channel.stop();
      await stop();
    },
  };
}

const tapOf = ({ messageId, action, reason }: RigTap & { readonly reason?: string }) => ({
  openId: LI_WEI.openId,
  messageId,
  element: buttonFor(action),
  formValue: { reason: reason ?? '' },
});

const SEND_FAULTS = {
  refused: {
    kind: 'answer',
    status: 400,
    body: { code: 230002, msg: 'The bot can not be outside the group.' },
  },
  'rate-limited': {
    kind: 'answer',
    status: 429,
    body: { code: 99991400, msg: 'request trigger frequency limit' },
    headers: { 'x-ogw-ratelimit-reset': '7' },
  },
  'cut-after-accepting': { kind: 'cut', carriedOut: true },
  'server-error-after-accepting': { kind: 'answer', status: 502, body: 'bad gateway', carriedOut: true },
} as const satisfies Record<SendFault, Parameters<FeishuStandin['faults']['next']>[1]>;

const answer = (body: JsonValue, status = 200) => ({ kind: 'answer', status, body }) as const;
const ENDPOINT_FAULTS = {
  busy: answer({ code: 1, msg: 'system busy' }),
  unauthorized: answer({ code: 514, msg: 'auth failed' }),
  nonsense: answer({ code: 0, msg: '', data: { URL: 7 } }),
  cut: { kind: 'cut', carriedOut: false },
} as const;
const DIRECTORY_FAULTS = {
  'rate-limited': SEND_FAULTS['rate-limited'],
  refused: answer({ code: 99991672, msg: 'Access denied. contact:contact.base:readonly is required' }, 400),
  'server-error': answer('bad gateway', 502),
  cut: { kind: 'cut', carriedOut: false },
  nonsense: answer({ code: 0, msg: 'success', data: { user: { open_id: 7 } } }),
  'somebody-else': answer({ code: 0, msg: 'success', data: { user: { open_id: 'ou_other' } } }),
} as const satisfies Record<LookUpFault, unknown>;

/** The button for an action, whether it carries it in its value or in its name. */
export const buttonFor = (action: TapAction) => (button: StandinButton) => actionOf(button).includes(action);

function actionOf(button: StandinButton): TapAction[] {
  const said = button.value?.action ?? button.name?.split('.')[0];
  return (['approve', 'reject', 'revoke', ...SETTLE_ACTIONS] as const).filter((action) => action === said);
}

/** Every text on a card that a person can read, in reading order. */
export function textsOf(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  if (value.tag === 'plain_text' && typeof value.content === 'string') return [value.content];
  return Object.values(value).flatMap(textsOf);
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= run();
    return running;
  };
}
