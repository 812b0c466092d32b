import type { Channel } from '../channel/channel.ts';
import type { DeliveryOnRecord } from '../channel/delivery-on-record.ts';
import type { TapEvent } from '../channel/inbound-event.ts';
import type { DeliveryId } from '../ids.ts';
import type { Roster } from './roster.ts';
import type { SeenCard } from './seen-card.ts';

/** The cards on record, as far as a callback has to be compared with them. */
export interface TapDeliveries {
  findByToken(token: string): Promise<DeliveryOnRecord | null>;
  /**
   * Takes the message of a verified callback, and its chat where that is not known, for a delivery that knows none, or
   * fewer than it may have sent. One
   * guarded statement; false where the message is not, or not any more, free to take.
   */
  adoptMessage(input: {
    readonly delivery: DeliveryId;
    readonly chat: string;
    readonly messageId: string;
  }): Promise<boolean>;
  /** The card as it went out in this version, or in the newest that the platform took; null where none did. */
  seenCard(input: {
    readonly delivery: DeliveryId;
    readonly version: number | null;
  }): Promise<SeenCard | null>;
}

export type TapMatch =
  | {
      readonly kind: 'matched';
      readonly delivery: DeliveryOnRecord;
      /** Null only for a card that does not say which version it is. */
      readonly seen: SeenCard | null;
    }
  | { readonly kind: 'mismatch'; readonly code: TapMismatch; readonly delivery: DeliveryOnRecord | null };

export type TapMismatch =
  | 'unknown_token'
  | 'other_channel'
  | 'other_app'
  | 'other_tenant'
  | 'other_chat'
  | 'other_request'
  | 'other_message'
  | 'other_recipient'
  /** The message is an old one of this delivery: its card stands further down in the chat. */
  | 'moved_card'
  | 'unknown_version';

/**
 * The delivery that a verified callback comes from (I19): same channel and provider, app where one is configured,
 * the chat's tenant, chat, request where the callback names one, message, and a version that went out. A card forwarded
 * elsewhere, a value copied into another message and a callback of another app all end here. A direct message whose
 * chat the platform has not named yet is known by its person instead.
 */
export async function matchTap(input: {
  readonly channel: Channel;
  readonly event: TapEvent;
  readonly deliveries: TapDeliveries;
  readonly roster: Pick<Roster, 'personOf'>;
}): Promise<TapMatch> {
  const { channel, event, deliveries, roster } = input;
  const delivery = event.token === null ? null : await deliveries.findByToken(event.token);
  if (delivery === null) return { kind: 'mismatch', code: 'unknown_token', delivery: null };
  const code = differenceOf(channel, event, delivery) ?? recipientDifference(event, delivery, roster);
  if (code !== null) return { kind: 'mismatch', code, delivery };
  if (delivery.retiredMessageIds.includes(event.messageId))
    return { kind: 'mismatch', code: 'moved_card', delivery };
  if (!(await belongs(event, delivery, deliveries)))
    return { kind: 'mismatch', code: 'other_message', delivery };
  const seen = await deliveries.seenCard({ delivery: delivery.id, version: event.cardVersion });
  if (seen === null && event.cardVersion !== null)
    return { kind: 'mismatch', code: 'unknown_version', delivery };
  return { kind: 'matched', delivery, seen };
}

function differenceOf(channel: Channel, event: TapEvent, delivery: DeliveryOnRecord): TapMismatch | null {
  const { address } = delivery;
  if (delivery.channel !== channel.id || address.provider !== event.actor.provider) return 'other_channel';
  if (address.app !== '' && address.app !== event.app) return 'other_app';
  if (address.tenant !== event.tenant) return 'other_tenant';
  if (address.chat !== event.chat && address.chat !== '') return 'other_chat';
  if (event.confirmation !== null && event.confirmation !== delivery.confirmationId) return 'other_request';
  return null;
}

function recipientDifference(
  { actor }: TapEvent,
  { person, address }: DeliveryOnRecord,
  roster: Pick<Roster, 'personOf'>,
): TapMismatch | null {
  if (person === null) return null;
  const match = roster.personOf(actor);
  if (match.kind === 'person') return match.person.id === person ? null : 'other_recipient';
  // The directory may still say who it is, but only of a chat that is known to be this message's.
  return address.chat === '' ? 'other_recipient' : null;
}

async function belongs(
  { messageId, chat, token }: TapEvent,
  delivery: DeliveryOnRecord,
  deliveries: TapDeliveries,
): Promise<boolean> {
  if (delivery.messageIds.includes(messageId)) return true;
  if (await deliveries.adoptMessage({ delivery: delivery.id, chat, messageId })) return true;
  // The sender may have written the id down between the two statements.
  const now = token === null ? null : await deliveries.findByToken(token);
  return now?.messageIds.includes(messageId) ?? false;
}
