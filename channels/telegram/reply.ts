import type { Logger } from 'pino';
import { assertNever } from '../../src/assert-never.ts';
import type { Notice } from '../../src/channel/card.ts';
import type { ChannelAnswer } from '../../src/channel/channel.ts';
import { ACKNOWLEDGED } from '../../src/channel/http-answers.ts';
import type { CallbackReply, TapEvent } from '../../src/channel/inbound-event.ts';
import { noticeText } from '../../src/channel/notice-text.ts';
import { onOneLine } from '../../src/channel/one-line.ts';
import type { Locale } from '../../src/locale.ts';
import type { TelegramClient, TelegramResult } from './client.ts';
import { cut, LIMITS, literal } from './limits.ts';
import type { TelegramHandle } from './parse.ts';
import { writePromptMark } from './wire.ts';

interface Replying {
  readonly event: TapEvent;
  readonly reply: CallbackReply;
  /** The chat's language, for people whose client says none. */
  readonly locale: Locale;
  readonly client: TelegramClient;
  readonly botToken: string;
  readonly logger: Logger;
}

/**
 * The core's reply in Telegram's terms. The update itself is acknowledged with an empty 200; a tap is answered by what
 * only this person sees, and a reason that was typed by a message under it.
 */
export function replyTo(input: Replying): ChannelAnswer {
  const { event, reply } = input;
  // Only `parse` makes events of this channel, and it always gives them this handle.
  const handle = event.handle as TelegramHandle;
  const locale = handle.locale ?? input.locale;
  const tell = (notice: Notice) => told({ ...input, locale }, handle, notice);
  switch (reply.kind) {
    case 'notice':
    case 'reason-missing':
      return { answer: ACKNOWLEDGED, afterwards: () => tell(reply.notice) };
    case 'ask-reason':
      return {
        answer: ACKNOWLEDGED,
        afterwards: async () => {
          // Whoever has just answered the question is not asked the same again.
          const asked =
            handle.surface === 'button' && (await ask({ ...input, locale }, reply, handle.queryId));
          if (!asked) await tell(reply.failure);
        },
      };
    default:
      return assertNever(reply);
  }
}

async function told(
  { event, locale, client, logger }: Replying,
  handle: TelegramHandle,
  notice: Notice,
): Promise<void> {
  const text = noticeText(notice, locale);
  const result =
    handle.surface === 'button'
      ? await client.call({
          method: 'answerCallbackQuery',
          args: {
            callback_query_id: handle.queryId,
            text: cut(text, LIMITS.toast, locale),
            // What went as it was meant passes by; everything else waits to be read.
            show_alert: notice.level !== 'success',
          },
        })
      : await client.call({
          method: 'sendMessage',
          args: {
            chat_id: event.chat,
            ...literal(cut(text, LIMITS.message, locale)),
            link_preview_options: { is_disabled: true },
            reply_parameters: { message_id: handle.messageId, allow_sending_without_reply: true },
          },
        });
  warnOf(result, logger, 'a person could not be told in Telegram');
}

/**
 * Telegram has no dialogs: a message calls on the person to answer it, and its last line says, signed, what for. False
 * where it could not be posted.
 */
async function ask(
  { event, locale, client, botToken, logger }: Replying,
  reply: Extract<CallbackReply, { kind: 'ask-reason' }>,
  queryId: string,
): Promise<boolean> {
  const person = event.actor.ids.user ?? '';
  const mark = writePromptMark(
    {
      action: reply.action,
      token: reply.token,
      cardVersion: event.cardVersion ?? 0,
      messageId: event.messageId,
      chat: event.chat,
      person,
    },
    botToken,
  );
  const words = [`${CALL} ${reply.title[locale]}`, ...reply.recap[locale], `${reply.label[locale]} ↩`];
  const body = cut(words.map(onOneLine).join('\n'), LIMITS.message - mark.length - 1, locale);
  const text = `${body}\n${mark}`;
  const result = await client.call({
    method: 'sendMessage',
    args: {
      chat_id: event.chat,
      text,
      entities: [
        // By the mention `selective` knows for whom the reply opens.
        {
          type: 'text_mention',
          offset: 0,
          length: CALL.length,
          user: { id: Number(person), is_bot: false, first_name: CALL },
        },
        { type: 'code', offset: CALL.length + 1, length: text.length - CALL.length - 1 },
      ],
      link_preview_options: { is_disabled: true },
      reply_parameters: { message_id: Number(event.messageId), allow_sending_without_reply: true },
      reply_markup: { force_reply: true, selective: true },
    },
  });
  warnOf(result, logger, 'a reason could not be asked for in Telegram');
  if (result.kind !== 'ok') return false;
  // Ends the clock on the button; the question itself stands in the chat.
  const ended = await client.call({ method: 'answerCallbackQuery', args: { callback_query_id: queryId } });
  warnOf(ended, logger, 'a tap could not be answered in Telegram');
  return true;
}

function warnOf(result: TelegramResult, logger: Logger, message: string): void {
  if (result.kind !== 'ok') logger.warn({ error: result.error }, message);
}

/** A mention needs a text to stand on. */
const CALL = '👤';
