import type { OutgoingReminder, SendOutcome } from '../../src/channel/channel.ts';
import { onOneLine } from '../../src/channel/one-line.ts';
import type { Locale } from '../../src/locale.ts';
import { type SlackClient, toSendOutcome } from './client.ts';
import { SLACK_ID } from './config.ts';
import { cut, escapeControls, LIMITS } from './limits.ts';

/**
 * A reply in the card's thread. One that is not quiet is seen by the whole channel: a thread alone would reach only
 * those who had written in it. Slack has no idempotency key; the caller never repeats what may have arrived.
 */
export async function remindInThread({
  reminder,
  client,
  chat,
  locale,
}: {
  readonly reminder: OutgoingReminder;
  readonly client: SlackClient;
  readonly chat: string;
  readonly locale: Locale;
}): Promise<SendOutcome> {
  if (!SLACK_ID.timestamp.test(reminder.messageId))
    return { kind: 'refused', error: 'chat.postMessage: the message id is not a Slack ts' };
  const text = cut(onOneLine(reminder.text), LIMITS.fallbackText, locale);
  const result = await client.call({
    method: 'chat.postMessage',
    args: {
      channel: chat,
      thread_ts: reminder.messageId,
      reply_broadcast: !reminder.quiet,
      text: escapeControls(text),
      // Plain text: names and tools in it are other people's words.
      blocks: [{ type: 'section', text: { type: 'plain_text', text, emoji: false } }],
      parse: 'none',
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    },
    signal: reminder.signal,
  });
  return result.kind === 'ok' ? { kind: 'sent', messageId: reminder.messageId } : toSendOutcome(result);
}
