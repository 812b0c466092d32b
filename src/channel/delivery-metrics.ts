import type { ChannelId } from '../ids.ts';
import type { DeliveryResult } from './delivery-outbox.ts';

/** Counts what became of each try, by channel. */
export interface DeliveryMetrics {
  delivered(input: { readonly channel: ChannelId; readonly result: DeliveryResult['kind'] }): void;
}
