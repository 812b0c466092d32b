import type { ChannelId, ConfirmationId, DeliveryId, PersonId } from '../ids.ts';
import type { ChannelAddress } from './channel.ts';

/** What is known of a card that went out, for comparison with a callback that claims to come from it. */
export interface DeliveryOnRecord {
  readonly id: DeliveryId;
  readonly confirmationId: ConfirmationId;
  readonly channel: ChannelId;
  /** Of a direct message whose chat is not known yet, that is empty. */
  readonly address: ChannelAddress;
  /** Whom a direct message is for; null for a card in the channel's chat. */
  readonly person: PersonId | null;
  readonly messageIds: readonly string[];
  /** Messages of this delivery that say that the card has moved. */
  readonly retiredMessageIds: readonly string[];
  /** False where the card could not show in full what decides: then it cannot approve. */
  readonly decisiveShown: boolean;
}
