import type { ChannelId } from '../ids.ts';

/** What became of one card of a request, as API and record show it. */
export interface DeliveryRecord {
  readonly channel: ChannelId;
  readonly state: 'queued' | 'sent' | 'uncertain' | 'failed';
  readonly messageIds: readonly string[];
  readonly at: Date;
  readonly error: string | null;
}
