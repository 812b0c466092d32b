import type { Locale, LocalizedText } from '../locale.ts';
import type { Verdict } from '../verdict.ts';
import type { Notice } from './card.ts';

/**
 * What a verified callback says, in no platform's terms. Nothing in it is trusted beyond what the platform's
 * signature covers: who acted comes from the envelope alone, and which request is meant is checked against the
 * delivery on record.
 */
export type InboundEvent =
  | TapEvent
  /** Verified, but nothing we act on: answered 200 and ignored. */
  | { readonly type: 'unsupported'; readonly what: string };

/** What a person may say of an outcome that nobody knows. */
export const SETTLE_ACTIONS = ['succeeded', 'failed', 'run_again'] as const;
export type SettleAction = (typeof SETTLE_ACTIONS)[number];

/** What a button means: a vote, taking back an approval that nobody has used yet, or what became of a call. */
export type TapAction = Verdict | 'revoke' | SettleAction;
/** Those before which words may be asked for. */
export type ReasonedAction = Exclude<TapAction, 'revoke'>;

export const isSettleAction = (action: TapAction): action is SettleAction =>
  SETTLE_ACTIONS.some((known) => known === action);

export interface TapEvent {
  readonly type: 'tap';
  readonly actor: ChannelActor;
  /** App id from the envelope; null where the platform sent none. */
  readonly app: string | null;
  readonly tenant: string;
  readonly chat: string;
  readonly messageId: string;
  /** What the button, form or modal carried. `confirmation` is null where a form carries the token alone. */
  readonly confirmation: string | null;
  readonly token: string | null;
  /** Which version of the card the button stood on; null on cards that do not say. */
  readonly cardVersion: number | null;
  readonly action: TapAction;
  /** `undefined`: the surface did not ask yet; a string: what was typed (may be empty). */
  readonly reason: string | undefined;
  /** Where a reason was asked for, the person who was asked; must be the one who answers. */
  readonly openedFor: string | null;
  /** Identifies this callback at the platform, for the record only. */
  readonly eventId: string | null;
  /** What the channel needs to answer (trigger id, response handle); opaque to the core. */
  readonly handle: unknown;
}

/** Who acted, by every id the envelope carries. */
export interface ChannelActor {
  readonly provider: string;
  /** The actor's own tenant or team, which may differ from the chat's. */
  readonly tenant: string;
  /** For example `{openId, unionId, userId}` or `{user}`; compared with `people[].<kind>`. */
  readonly ids: Readonly<Record<string, string>>;
  readonly isBot: boolean;
}

/** What the core wants the person who tapped to see. The card itself is changed by the delivery worker alone. */
export type CallbackReply =
  | { readonly kind: 'notice'; readonly notice: Notice }
  /** Ask for a reason before anything is decided (a modal, a message to reply to; Feishu's form has the field already). */
  | {
      readonly kind: 'ask-reason';
      readonly action: ReasonedAction;
      readonly confirmation: string;
      readonly token: string;
      readonly title: LocalizedText;
      readonly label: LocalizedText;
      readonly submit: LocalizedText;
      readonly cancel: LocalizedText;
      /** What the person is deciding about, on one line each. */
      readonly recap: Readonly<Record<Locale, readonly string[]>>;
      /** Said by an ephemeral where the modal cannot be opened. */
      readonly failure: Notice;
    }
  /** A reason was asked for and came back empty. */
  | { readonly kind: 'reason-missing'; readonly notice: Notice };
