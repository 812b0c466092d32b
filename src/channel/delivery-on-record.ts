import type { ChannelId, ConfirmationId, DeliveryId } from '../ids.ts';
import type { ChannelAddress } from './channel.ts';

/** What is known of a card that went out, for comparison with a callback that claims to come from it. */
export interface DeliveryOnRecord {
  readonly id: DeliveryId;
  readonly confirmationId: ConfirmationId;
  readonly channel: ChannelId;
  readonly address: ChannelAddress;
  readonly messageIds: readonly string[];
  /** Messages of this delivery that say that the card has moved. */
  readonly retiredMessageIds: readonly string[];
  /** False where the card could not show in full what decides: then it cannot approve. */
  readonly decisiveShown: boolean;
}
