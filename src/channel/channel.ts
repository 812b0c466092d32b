import type { ChannelId, ConfirmationId } from '../ids.ts';
import type { Locale, LocalizedText } from '../locale.ts';
import type { Card, RenderedCard } from './card.ts';
import type { ChannelPace } from './chat-pace.ts';
import type { ChannelFinding, DiagnosisInput } from './diagnosis.ts';
import type { InboundConnection } from './inbound-connection.ts';
import type { CallbackReply, ChannelActor, InboundEvent, TapEvent } from './inbound-event.ts';

/**
 * One place where people are asked. A channel knows its platform and nothing of policies, votes or the database;
 * the core knows nothing of the platform. Implementations live in `channels/<kind>/`.
 */
export interface Channel {
  readonly id: ChannelId;
  readonly kind: string;
  /** The language of cards in this channel's chat. */
  readonly locale: Locale;
  /** The address a delivery of this channel goes to; a callback must come from the same one. */
  readonly address: ChannelAddress;
  /** How fast the platform takes what goes to the chat. Absent: one new message a second, and changes little faster. */
  readonly pace?: ChannelPace;
  /**
   * How long the platform is sure to change a message and to report taps on it. A card that is still needed is
   * re-issued a day before. Absent: for as long as anybody needs it.
   */
  readonly cardLifetimeMs?: number;

  /**
   * Present where the channel connects to its platform by itself. Then it has no callback address (404), and
   * `receive` is not called. Absent: callbacks come over HTTP.
   */
  readonly connection?: InboundConnection;

  /** Opens what the channel needs. A throw stops the start. Called once. */
  start(): Promise<void>;
  /** Lets work in flight finish, that of its connection included, then frees everything. */
  stop(): Promise<void>;
  health(): ChannelHealth;

  /**
   * Verifies the raw bytes of a callback and parses them. No state changes here. `refused` is answered 401 with an
   * empty body; a throw counts as refused too.
   */
  receive(request: InboundRequest): Promise<InboundResult>;
  /**
   * Turns the core's reply into the platform's HTTP answer. `afterwards` is started once the answer is on its way
   * (an ephemeral message, a modal); it may fail without undoing anything and must not throw.
   */
  reply(event: TapEvent, reply: CallbackReply): ChannelAnswer;
  /**
   * Asks the platform's directory by which further ids the actor of a verified callback is known in this channel's
   * tenant. Called only where the envelope's own ids find nobody and others could; while the platform waits for its
   * answer, so `signal` ends it early. Null: the directory has no such member. A throw: it could not be asked, and
   * nobody is taken for the actor. Absent: this platform has no directory.
   */
  resolve?(input: {
    readonly actor: ChannelActor;
    readonly signal: AbortSignal;
  }): Promise<ChannelActor | null>;

  /** Draws a card within the platform's limits. Pure: the same card and token give the same payload. */
  render(card: Card, token: string): RenderedCard;
  /**
   * Sends a new message. `attempt` > 1 means an earlier attempt may have arrived: the channel uses the platform's
   * idempotency key (`delivery.id`) or looks for the earlier message first.
   */
  send(delivery: OutgoingDelivery): Promise<SendOutcome>;
  /** Changes a message that was sent. Idempotent. */
  update(delivery: OutgoingUpdate): Promise<UpdateOutcome>;
  /**
   * Posts a note under a card that was sent: plain text, without buttons, seen by everybody in the chat. Called once a
   * note, and again only after `retry`. Where a channel lacks this, the changed card has to do.
   */
  remind?(reminder: OutgoingReminder): Promise<SendOutcome>;

  /**
   * Checks step by step what an operator had to set up, and says what to do about each fault. Called on a channel that
   * was not started; posts nothing and changes nothing.
   */
  diagnose?(input: DiagnosisInput): AsyncIterable<ChannelFinding>;
  /** What an operator does about an error of `send`, `update` or `remind`; null where there is nothing to say. */
  advise?(error: string): LocalizedText | null;
}

export interface OutgoingReminder {
  /** A UUID; the platform's idempotency key where it has one. */
  readonly id: string;
  /** The message of the card. */
  readonly messageId: string;
  /** Whose direct message it is; absent: the card is in the channel's chat. */
  readonly direct?: DirectRecipient | null;
  /** In the channel's language, already made visible; it is still no markup. */
  readonly text: string;
  /** Nobody has to act on it: it disturbs nobody, as far as the platform lets a note do that. */
  readonly quiet: boolean;
  readonly signal: AbortSignal;
}

export interface ChannelAddress {
  readonly provider: string;
  /** The app's id on the platform; empty where the configuration does not name one (then not compared). */
  readonly app: string;
  /** Feishu tenant key or Slack team id; fixed where the platform's accounts belong to none. */
  readonly tenant: string;
  readonly chat: string;
}

export interface ChannelHealth {
  readonly ready: boolean;
  /** One sentence for operators; never a secret. */
  readonly detail: string;
}

export interface InboundRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The exact bytes of the body. */
  readonly body: Buffer;
}

export type InboundResult =
  | { readonly kind: 'refused'; readonly reason: string }
  /** Answered without touching any state (URL checks). */
  | { readonly kind: 'answered'; readonly answer: HttpAnswer }
  | { readonly kind: 'event'; readonly event: InboundEvent };

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface ChannelAnswer {
  readonly answer: HttpAnswer;
  readonly afterwards?: () => Promise<void>;
}

export interface OutgoingDelivery {
  /** A UUIDv7, made when this message was first wanted; the platform's idempotency key where it has one. */
  readonly id: string;
  readonly confirmationId: ConfirmationId;
  /** The opaque token that this delivery's buttons carry. */
  readonly token: string;
  /** Whom to write to; absent: the card goes to the channel's chat. */
  readonly direct?: DirectRecipient | null;
  readonly rendered: RenderedCard;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** One person of the channel's tenant who gets the card in a direct message from the app. */
export interface DirectRecipient {
  /** As the configuration has them, for example `{openId: 'ou_…'}` or `{user: 'U0…'}`; at least one. */
  readonly ids: Readonly<Record<string, string>>;
  /** The chat of that direct message, once it is known. */
  readonly chat: string | null;
}

export interface OutgoingUpdate extends OutgoingDelivery {
  readonly messageId: string;
}

export type SendOutcome =
  /** `chat`: of a direct message, the one in which it stands, where the platform says so. */
  | { readonly kind: 'sent'; readonly messageId: string; readonly chat?: string }
  /** It may have arrived: time-out, or a connection that broke after the request was written. */
  | { readonly kind: 'uncertain'; readonly error: string }
  /** It did not arrive and may be tried again, not before `retryAfterMs`. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryAfterMs: number | null }
  /** What the card says was refused (a filter, a size): one that shows less may be taken. It did not arrive. */
  | { readonly kind: 'content-refused'; readonly error: string }
  /** The platform refused for good: wrong chat, bot not in it, token revoked. */
  | { readonly kind: 'refused'; readonly error: string };

export type UpdateOutcome =
  | { readonly kind: 'updated' }
  /** Nobody knows whether it was changed, or will be in a moment. */
  | { readonly kind: 'uncertain'; readonly error: string }
  | { readonly kind: 'retry'; readonly error: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'content-refused'; readonly error: string }
  /** The message was deleted, or is too old to be changed. */
  | { readonly kind: 'gone'; readonly error: string }
  /** As for a send: it may be lifted, but not by trying again. */
  | { readonly kind: 'refused'; readonly error: string };
