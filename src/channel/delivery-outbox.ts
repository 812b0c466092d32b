import type { ChannelId, ConfirmationId, DeliveryId } from '../ids.ts';
import type { Card, RenderedCard } from './card.ts';
import type { CardView } from './card-source.ts';
import type { DirectRecipient } from './channel.ts';

/**
 * The rows that say which cards are still to be sent or changed. Every process works from the same rows; a lease
 * makes one process the only writer of a card. Each method is one transaction; a throw means that nothing changed.
 */
export interface DeliveryOutbox {
  /**
   * Leases up to so many due new cards and changes of one channel to the caller. Each kind has places of its own, so
   * neither waits for the other; of the changes, cards of closed requests that still have buttons come first. A new
   * send is counted as possibly in the chat from here on, so a process that dies while sending leaves that on record.
   */
  claim(input: {
    readonly channel: ChannelId;
    readonly sends: number;
    readonly changes: number;
    readonly leaseMs: number;
  }): Promise<readonly DueDelivery[]>;
  /** Keeps what is about to be shown, before it goes out. False: the lease was lost, so nothing may go out. */
  keepRendered(input: {
    readonly due: DueDelivery;
    readonly card: Card;
    readonly rendered: RenderedCard;
    /** Of the payload; see `cardDigest`. */
    readonly digest: string;
  }): Promise<boolean>;
  /**
   * Writes down what came of it together with its audit event, and ends the lease. A message id is kept even where
   * the lease was lost meanwhile: the message stands in the chat all the same.
   */
  record(input: { readonly due: DueDelivery; readonly result: DeliveryResult }): Promise<void>;
  /** Gives a lease back untouched: nothing was sent. */
  release(due: DueDelivery): Promise<void>;
  /**
   * Makes due what has become due by itself: cards older than `olderThanMs` that are still needed are to be re-issued
   * (null: none ever), and cards that were given up on are to be tried again, ever more seldom.
   */
  mend(input: { readonly channel: ChannelId; readonly olderThanMs: number | null }): Promise<void>;
  /** After an outage of the channel: every card in its chats that still has to change one day is due once more. */
  rewrite(channel: ChannelId): Promise<void>;
  /** Pending requests of which no card reached anybody, and for which it is time to do something; or one by its id. */
  unreached(confirmation?: ConfirmationId): Promise<readonly Unreached[]>;
}

/** One leased delivery. */
export type DueDelivery = {
  readonly id: DeliveryId;
  readonly confirmationId: ConfirmationId;
  readonly channel: ChannelId;
  /** Names the sending of the newest message to the platform. */
  readonly issueId: string;
  readonly token: string;
  /** Whom it is written to directly; null: the card goes to the channel's chat. */
  readonly direct: DirectRecipient | null;
  readonly view: CardView;
  /** Proves that the lease is still this one. */
  readonly lease: string;
  /** The version that the card has to show at least. */
  readonly wantedVersion: number;
  /** Tries in a row that did not succeed, before this one. */
  readonly failedAttempts: number;
  /** An earlier change may have arrived after a later one; this one is late enough to have the last word. */
  readonly settles: boolean;
} & (
  | {
      readonly task: 'send';
      /** 1, or more where an earlier send may have arrived. */
      readonly attempt: number;
      /** It takes the place of messages that say so already. */
      readonly reissued: boolean;
    }
  | {
      /** `retire`: too old to be trusted with a change; closed, so that a new message can take its place. */
      readonly task: 'update' | 'retire';
      /** Every message that shows this card; more than one where a lost answer made a duplicate. */
      readonly messageIds: readonly string[];
    }
);

export type DeliveryResult =
  | {
      readonly kind: 'sent';
      readonly messageId: string;
      /** The chat of a direct message, where the platform named it. */
      readonly chat?: string;
      readonly shown: ShownCard;
    }
  | { readonly kind: 'updated'; readonly shown: ShownCard }
  /** The old messages say that the card has moved, or are gone; a new one is to be sent. */
  | { readonly kind: 'retired' }
  /** The request ended before the new message was sent: the old ones are the card again. */
  | { readonly kind: 'reinstated' }
  /** The platform does not take what the card says; it is tried again with less. */
  | { readonly kind: 'content-refused'; readonly error: string; readonly view: CardView }
  /** It may have arrived; it is looked for and tried again. */
  | { readonly kind: 'uncertain'; readonly error: string; readonly retryInMs: number }
  /** It did not arrive, or was not changed; it is tried again. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryInMs: number }
  /**
   * It will not be tried again, unless the card has to show something newer. With `mayRecover`, also by `mend`.
   */
  | { readonly kind: 'gave-up'; readonly error: string; readonly mayRecover: boolean };

/** What the platform has accepted. */
export interface ShownCard {
  readonly version: number;
  readonly digest: string;
  readonly hasButtons: boolean;
}

/** Every card was refused for good; none was taken in time; it is time to ask the fallback channels. */
export type UnreachedReason = 'channels_refused' | 'delivery_timeout' | 'fallback_due';

export interface Unreached {
  readonly confirmationId: ConfirmationId;
  readonly reason: UnreachedReason;
  /** Whether the fallback channels have been asked before. */
  readonly rerouted: boolean;
}
