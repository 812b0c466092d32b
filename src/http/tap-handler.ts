import type { Channel } from '../channel/channel.ts';
import type { CallbackReply, TapEvent } from '../channel/inbound-event.ts';

/**
 * What the core does with a verified tap. It resolves after the transaction has committed, with what the person who
 * tapped shall be told; a throw means that nothing was recorded.
 */
export interface TapHandler {
  handle(channel: Channel, event: TapEvent): Promise<CallbackReply>;
}
