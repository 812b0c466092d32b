import type { ChannelId, ConfirmationId, DeliveryId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import type { PersonRef } from './confirmation-request.ts';

/** One version of one card, kept as it went out. */
export interface CardRecord {
  readonly delivery: DeliveryId;
  readonly channel: ChannelId;
  /** Whose direct message it is; null: it is in the channel's chat. */
  readonly person: PersonRef | null;
  /** The messages of which the platform said that they show it; none where its answer was lost, or was a refusal. */
  readonly messageIds: readonly string[];
  /** The version of the request that it shows. */
  readonly version: number;
  readonly locale: Locale;
  /** `sha256:` + hex of SHA-256 over `payload` in UTF-8. */
  readonly digest: string;
  /** What the platform was sent, to the byte: its own JSON, in which the words stand. */
  readonly payload: string;
  /** When it went out last. */
  readonly at: Date;
}

/** What people were shown. */
export interface CardRecords {
  /**
   * The cards of a request, delivery by delivery, each from its first version on. Throws `invalid_request` for a cursor
   * that no page gave.
   */
  list(input: {
    readonly confirmation: ConfirmationId;
    readonly limit: number;
    readonly cursor?: string | undefined;
  }): Promise<{ readonly items: readonly CardRecord[]; readonly nextCursor: string | null }>;
}
