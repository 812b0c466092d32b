import type { Channel, ChannelAnswer, InboundRequest } from '../../src/channel/channel.ts';
import type { InboundHandler } from '../../src/channel/inbound-connection.ts';
import type { ChannelActor, InboundEvent, TapAction, TapEvent } from '../../src/channel/inbound-event.ts';
import type { ManualClock } from '../support/manual-clock.ts';

/** One channel with the platform it talks to, in the terms the contract needs. Every channel brings its own. */
export interface ChannelRig {
  /** Started; reads `clock`, as the platform does. */
  readonly channel: Channel;
  readonly clock: ManualClock;
  /** The ids by which a tap of this rig's person must be known. */
  readonly personIds: Readonly<Record<string, string>>;
  /** The callback of a tap on the message's button for `action`. */
  tap(tap: RigTap): Promise<RigCallback>;
  /** The callback by which a reason reaches us, after whatever the platform does to ask for it. */
  tapWithReason(tap: RigTap & { readonly reason: string }): Promise<RigCallback>;
  /** By what way callbacks come in; each way has its own part of the contract. */
  readonly wayIn: RigWebhook | RigConnection;
  /** What the person who tapped is told, wherever the platform shows it. */
  told(event: TapEvent, answer: ChannelAnswer): Promise<readonly string[]>;
  /** The messages in the chat, oldest first, as people see them now. */
  shown(): readonly ShownMessage[];
  /** How the next attempt to send goes wrong. */
  failNextSend(fault: SendFault): void;
  failNextUpdate(fault: 'rate-limited' | 'refused'): void;
  /** Absent where the platform has none that this channel could ask. */
  readonly directory?: RigDirectory;
  /** Shuts the platform down: no connection is taken any more. */
  stopPlatform(): Promise<void>;
  stop(): Promise<void>;
}

/** A person whom callbacks and configuration know by unlike ids: what a callback says, and what the directory adds. */
export interface RigDirectory {
  readonly actor: ChannelActor;
  readonly resolved: Pick<ChannelActor, 'tenant' | 'ids'>;
  /** Somebody of the same kind whom the directory does not have. */
  readonly stranger: ChannelActor;
  failNextLookUp(fault: LookUpFault): void;
}

export const LOOK_UP_FAULTS = [
  'rate-limited',
  'refused',
  'server-error',
  'cut',
  'nonsense',
  'somebody-else',
] as const;
export type LookUpFault = (typeof LOOK_UP_FAULTS)[number];

/** A callback that may come in any number of times; what the channel makes of it. */
export interface RigCallback {
  arrive(): Promise<TapEvent>;
}

/** The platform calls us, and proves by its headers that it is the platform. */
export interface RigWebhook {
  readonly kind: 'webhook';
  /** Names of the headers that prove a callback. */
  readonly proofHeaders: readonly string[];
  /** A tap's callback, signed now, not delivered. */
  request(tap: RigTap): Promise<InboundRequest>;
  /** The same tap under another app's secret. */
  requestOfAnotherApp(tap: RigTap): Promise<InboundRequest>;
}

/** We connect to the platform, which proves that we are we; what comes in needs no proof of its own. */
export interface RigConnection {
  readonly kind: 'connection';
  /** Something bad happens to the connections that stand, or to the next ones. */
  readonly faults: Readonly<Record<string, () => void>>;
  /** A tap as a person makes it, with the answer of the core's stand-in; what the person's client shows. */
  press(tap: RigTap): Promise<'answered' | 'error'>;
  /** From now on the core answers a tap only when the returned function is called. */
  holdAnswers(): () => void;
  /** How many events the core was handed. */
  received(): number;
}

/** What only some platforms have; the contract asks for it unless a channel says that its platform lacks it. */
export type PlatformFeature =
  /** The proof of a callback covers the bytes and the time of it, not only who sends. */
  | 'signed bodies'
  /** A card whose answer was lost is found again, by an idempotency key or by a look into the chat. */
  | 'sending once'
  /** A button has room for the request's id beside the delivery's token. */
  | 'requests in buttons'
  /** Further ids of a person can be asked for. */
  | 'a directory'
  /** One app may connect more than once. */
  | 'several connections';

/**
 * The features that a platform lacks, each with the reason. What rests on one is reported as skipped, under that reason,
 * and the contract asks for what the channel does instead.
 */
export type LackedFeatures = Readonly<Partial<Record<PlatformFeature, string>>>;

/** The parts of a rig that connects: events as the core is handed them. */
export function captureEvents(
  answerTo: (event: InboundEvent) => ChannelAnswer = () => ({
    answer: { status: 200, contentType: 'application/json', body: '{}' },
  }),
) {
  const events: InboundEvent[] = [];
  let gate: Promise<void> = Promise.resolve();
  const handler: InboundHandler = {
    async handle(event) {
      events.push(event);
      await gate;
      return answerTo(event);
    },
    async refuse() {},
  };
  return {
    handler,
    events,
    holdAnswers() {
      let release = () => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
    /** The tap that `deliver` brings in; one that came before and is known again is the same one. */
    async tapFrom(deliver: () => Promise<unknown>): Promise<TapEvent> {
      const before = events.length;
      await deliver();
      const event = events[before] ?? events.at(-1);
      if (event?.type !== 'tap') throw new Error(`not a tap: ${JSON.stringify(event)}`);
      return event;
    },
  };
}

/** What the core does where a reason is asked for: the channel asks for it in its own way. */
export async function askForReason(channel: Channel, event: TapEvent): Promise<void> {
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

/** A callback over HTTP, as the channel reads it. */
export function httpCallback(channel: Channel, request: InboundRequest): RigCallback {
  return {
    async arrive() {
      const result = await channel.receive(request);
      if (result.kind !== 'event' || result.event.type !== 'tap')
        throw new Error(`not a tap: ${JSON.stringify(result)}`);
      return result.event;
    },
  };
}

export interface RigTap {
  readonly messageId: string;
  readonly action: TapAction;
}

export interface ShownMessage {
  readonly messageId: string;
  /** Everything on the message that people can read. */
  readonly text: string;
  /** What its buttons offer. */
  readonly actions: readonly TapAction[];
}

export type SendFault = 'rate-limited' | 'refused' | 'cut-after-accepting' | 'server-error-after-accepting';
