import type { ChannelId, ConfirmationId, DeliveryId } from '../ids.ts';
import type { Card, RenderedCard } from './card.ts';
import type { DirectRecipient } from './channel.ts';

/**
 * The rows that say which cards are still to be sent or changed. Every process works from the same rows; a lease
 * makes one process the only writer of a card. Each method is one transaction; a throw means that nothing changed.
 */
export interface DeliveryOutbox {
  /**
   * Leases up to `limit` due deliveries of one channel to the caller, changes of shown cards before new cards. A new
   * send is counted as possibly in the chat from here on, so a process that dies while sending leaves that on record.
   */
  claim(input: {
    readonly channel: ChannelId;
    readonly limit: number;
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
  /** Pending requests of which no card reached anybody, and for which it is time to do something; or one by its id. */
  unreached(confirmation?: ConfirmationId): Promise<readonly Unreached[]>;
}

/** One leased delivery. */
export type DueDelivery = {
  readonly id: DeliveryId;
  readonly confirmationId: ConfirmationId;
  readonly channel: ChannelId;
  readonly token: string;
  /** Whom it is written to directly; null: the card goes to the channel's chat. */
  readonly direct: DirectRecipient | null;
  /** Proves that the lease is still this one. */
  readonly lease: string;
  /** The version that the card has to show at least. */
  readonly wantedVersion: number;
  /** Tries in a row that did not succeed, before this one. */
  readonly failedAttempts: number;
} & (
  | {
      readonly task: 'send';
      /** 1, or more where an earlier send may have arrived. */
      readonly attempt: number;
    }
  | {
      readonly task: 'update';
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
  /** It may have arrived; it is looked for and tried again. */
  | { readonly kind: 'uncertain'; readonly error: string; readonly retryInMs: number }
  /** It did not arrive, or was not changed; it is tried again. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryInMs: number }
  /** It will not be tried again, unless the card has to show something newer. */
  | { readonly kind: 'gave-up'; readonly error: string };

/** What the platform has accepted. */
export interface ShownCard {
  readonly version: number;
  readonly digest: string;
}

/** Every card was refused for good; none was taken in time; it is time to ask the fallback channels. */
export type UnreachedReason = 'channels_refused' | 'delivery_timeout' | 'fallback_due';

export interface Unreached {
  readonly confirmationId: ConfirmationId;
  readonly reason: UnreachedReason;
  /** Whether the fallback channels have been asked before. */
  readonly rerouted: boolean;
}
