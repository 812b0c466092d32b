import type { Notice } from '../channel/card.ts';
import type { Channel, ChannelAnswer, HttpAnswer } from '../channel/channel.ts';
import type { InboundEvent } from '../channel/inbound-event.ts';
import type { TapHandler } from './handle-tap.ts';

/**
 * From a verified event to the platform's answer, however the event came in. The person who tapped is always told
 * something, and never that it was recorded where it was not. Never rejects; what went wrong goes to `onFault`.
 */
export async function answerEvent(input: {
  readonly channel: Channel;
  readonly event: InboundEvent;
  readonly tap: TapHandler;
  readonly onFault: (error: unknown) => void;
}): Promise<ChannelAnswer> {
  const { channel, event, tap, onFault } = input;
  if (event.type === 'unsupported') return { answer: NOTHING_TO_SAY };
  try {
    const reply = await tap.handle(channel, event);
    try {
      return channel.reply(event, reply);
    } catch (error) {
      // It is committed; the card will say what became of it.
      onFault(error);
      return { answer: NOTHING_TO_SAY };
    }
  } catch (error) {
    onFault(error);
  }
  try {
    return channel.reply(event, { kind: 'notice', notice: NOT_RECORDED });
  } catch (error) {
    onFault(error);
    return { answer: NOTHING_TO_SAY };
  }
}

const NOTHING_TO_SAY: HttpAnswer = {
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body: '{}',
};

const NOT_RECORDED: Notice = {
  level: 'error',
  text: {
    'zh-CN': '没有记录下来，请求没有变化，请稍后再试。',
    'en-US': 'This was not recorded and nothing has changed. Please try again in a moment.',
  },
};
