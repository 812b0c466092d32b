import { z } from 'zod';
import type { ChannelActor, InboundEvent, TapEvent } from '../../src/channel/inbound-event.ts';
import type { Locale } from '../../src/locale.ts';
import { TELEGRAM_TENANT } from './config.ts';
import { readButtonData, readPromptMark } from './wire.ts';

/** What `reply` needs to know of the event that it answers; the locale is null where the person's client says none. */
export type TelegramHandle =
  | { readonly surface: 'button'; readonly queryId: string; readonly locale: Locale | null }
  /** The message in which a reason was typed. */
  | { readonly surface: 'typed'; readonly messageId: number; readonly locale: Locale | null };

/** The bot to which a verified update was sent: the secret, or the token it was asked for with, says which. */
export interface UpdateReader {
  readonly bot: string;
  readonly botToken: string;
}

/** Reads one update of a verified source. Whatever we do not act on comes back as `unsupported`, never a throw. */
export function parseUpdate(json: unknown, reader: UpdateReader): InboundEvent {
  const query = queryUpdate.safeParse(json).data?.callback_query;
  if (query !== undefined) return parseQuery(query, reader);
  const message = messageUpdate.safeParse(json).data?.message;
  if (message !== undefined) return parseReply(message, reader);
  return unsupported('an update that is neither a tap on a message nor a reply');
}

export const updateId = (json: unknown): number | null => numbered.safeParse(json).data?.update_id ?? null;

const numbered = z.object({ update_id: z.int().min(0) });
const user = z.object({
  id: z.int().min(1),
  is_bot: z.boolean(),
  language_code: z.string().max(35).optional(),
});
const chat = z.object({ id: z.int() });
const messageId = z.int().min(1);

const queryUpdate = z.object({
  callback_query: z.object({
    id: z.string().min(1).max(100),
    from: user,
    message: z.object({ message_id: messageId, chat }),
    data: z.string().min(1).max(64),
  }),
});

const messageUpdate = z.object({
  message: z.object({
    message_id: messageId,
    from: user,
    /** A message in the name of a chat: `from` is then a stand-in, and nobody knows who wrote it. */
    sender_chat: z.unknown().optional(),
    chat,
    text: z.string().max(4096).optional(),
    reply_to_message: z.object({ from: user, chat, text: z.string().max(4096) }),
  }),
});

function parseQuery(
  query: z.infer<typeof queryUpdate>['callback_query'],
  { bot }: UpdateReader,
): InboundEvent {
  const data = readButtonData(query.data);
  if (data === null) return unsupported('a button that is not ours');
  const handle: TelegramHandle = { surface: 'button', queryId: query.id, locale: localeOf(query.from) };
  return tap({
    ...data,
    actor: actorOf(query.from),
    app: bot,
    chat: String(query.message.chat.id),
    messageId: String(query.message.message_id),
    reason: undefined,
    openedFor: null,
    eventId: query.id,
    handle,
  });
}

/** Only a reply to the very message in which this bot asked counts; whose reply it has to be, the core compares. */
function parseReply(
  message: z.infer<typeof messageUpdate>['message'],
  { bot, botToken }: UpdateReader,
): InboundEvent {
  const asked = message.reply_to_message;
  const inChat = String(message.chat.id);
  if (String(asked.from.id) !== bot || asked.chat.id !== message.chat.id)
    return unsupported('a reply to somebody else');
  const context = readPromptMark(asked.text, inChat, botToken);
  if (context === null) return unsupported('a reply to a message that asks for no reason');
  const written = message.text ?? '';
  const handle: TelegramHandle = {
    surface: 'typed',
    messageId: message.message_id,
    locale: localeOf(message.from),
  };
  return tap({
    // Whoever writes in the name of a chat is nobody in particular.
    actor: { ...actorOf(message.from), isBot: message.from.is_bot || message.sender_chat !== undefined },
    app: bot,
    chat: inChat,
    messageId: context.messageId,
    token: context.token,
    cardVersion: context.cardVersion,
    action: context.action,
    reason: written.trim() === '' ? '' : written,
    openedFor: context.person,
    eventId: `message:${message.message_id}`,
    handle,
  });
}

const actorOf = ({ id, is_bot }: z.infer<typeof user>): ChannelActor => ({
  provider: 'telegram',
  tenant: TELEGRAM_TENANT,
  ids: { user: String(id) },
  isBot: is_bot,
});

/** An IETF tag (`zh-hans`, `de`); null where there is none. */
function localeOf({ language_code }: z.infer<typeof user>): Locale | null {
  if (language_code === undefined || language_code === '') return null;
  return /^zh\b/i.test(language_code) ? 'zh-CN' : 'en-US';
}

/** A button's data has no room for the request's id: the token alone says which one is meant. */
const tap = (event: Omit<TapEvent, 'type' | 'tenant' | 'confirmation'>): TapEvent => ({
  type: 'tap',
  tenant: TELEGRAM_TENANT,
  confirmation: null,
  ...event,
});

const unsupported = (what: string): InboundEvent => ({ type: 'unsupported', what });
