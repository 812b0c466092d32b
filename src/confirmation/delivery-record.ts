import type { ChannelId } from '../ids.ts';
import type { PersonRef } from './confirmation-request.ts';

/** What became of one card of a request, as API and record show it. */
export interface DeliveryRecord {
  readonly channel: ChannelId;
  /** Who was written to directly; null: the card is in the channel's chat. */
  readonly person: PersonRef | null;
  readonly state: 'queued' | 'sent' | 'uncertain' | 'failed';
  readonly messageIds: readonly string[];
  readonly at: Date;
  readonly error: string | null;
}
