import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../json.ts';
import { type BlockCheck, checkMessageBlocks, checkView, type ModalView } from './check-blocks.ts';
import type { MessageVersion, SlackMessage, SlackPlatform, SlackUser } from './platform.ts';

export interface Workspace {
  readonly team: string;
  readonly channel: string;
  readonly appId: string;
  readonly users: readonly SlackUser[];
  readonly platform: SlackPlatform;
}

/** The bot as which the app posts. */
export const BOT = { user: 'U0BOT', bot: 'B0BOT' } as const;

type Answer = JsonObject;
type Method = (workspace: Workspace, args: Readonly<Record<string, unknown>>) => Answer;

/** The methods of the Web API that this project calls, with the checks Slack makes. */
export const WEB_API_METHODS: Readonly<Record<string, Method>> = {
  'auth.test': ({ team }) => ({
    ok: true,
    url: 'https://acme.slack.com/',
    team: 'Acme',
    user: 'countersign',
    team_id: team,
    user_id: BOT.user,
    bot_id: BOT.bot,
    is_enterprise_install: false,
  }),

  'chat.postMessage'(workspace, args) {
    const { content, refusal } = messageContent(args);
    const channel = chatOf(workspace, args);
    if (channel === null) return failed('channel_not_found');
    if (content === null) return refusal;
    const threadTs = typeof args.thread_ts === 'string' ? args.thread_ts : null;
    if (
      threadTs !== null &&
      !workspace.platform.messages.some((one) => one.ts === threadTs && one.channel === channel)
    )
      return failed('thread_not_found');
    const broadcast = threadTs !== null && String(args.reply_broadcast) === 'true';
    const message = workspace.platform.post({ ...content, channel, ours: true, threadTs, broadcast });
    return {
      ok: true,
      channel,
      ts: message.ts,
      message: messageAsSlackTells(message, workspace),
    };
  },

  'chat.update'(workspace, args) {
    const { content, refusal } = messageContent(args);
    const channel = chatOf(workspace, args);
    if (channel === null) return failed('channel_not_found');
    const message = workspace.platform.messages.find((one) => one.ts === args.ts && one.channel === channel);
    if (message === undefined) return failed('message_not_found');
    if (!message.ours) return failed('cant_update_message');
    if (content === null) return refusal;
    workspace.platform.edit(message.ts, content);
    return { ok: true, channel, ts: message.ts, text: content.text };
  },

  'chat.postEphemeral'(workspace, args) {
    const { content, refusal } = messageContent(args);
    const channel = chatOf(workspace, args);
    if (channel === null) return failed('channel_not_found');
    const user = workspace.users.find(({ id }) => id === args.user);
    if (user === undefined) return failed('user_not_in_channel');
    if (content === null) return refusal;
    const { text, blocks } = content;
    const { ts } = workspace.platform.whisper({ text, blocks, user: user.id, channel });
    return { ok: true, message_ts: ts };
  },

  'views.open'({ platform, team, appId }, args) {
    const check = checkView(args.view);
    if (!check.ok) return refusedBlocks(check);
    const trigger = platform.useTrigger(String(args.trigger_id));
    if ('error' in trigger) return failed(trigger.error);
    const modal = platform.showModal(trigger.user, args.view as ModalView);
    const view = modal.view as unknown as JsonObject;
    return { ok: true, view: { ...view, id: modal.id, team_id: team, app_id: appId } };
  },

  'conversations.history'(workspace, args) {
    const channel = chatOf(workspace, args);
    if (channel === null) return failed('channel_not_found');
    const limit = Math.min(999, Math.max(1, Number(args.limit ?? 100)));
    const before = typeof args.cursor === 'string' && args.cursor !== '' ? args.cursor : null;
    const oldest = Number(args.oldest ?? 0);
    const withMetadata = String(args.include_all_metadata) === 'true';
    const newestFirst = workspace.platform.messages
      .filter((one) => one.channel === channel && (one.threadTs === null || one.broadcast))
      .filter(({ ts }) => Number(ts) > oldest && (before === null || ts < before))
      .toReversed();
    const page = newestFirst.slice(0, limit);
    const hasMore = newestFirst.length > page.length;
    return {
      ok: true,
      messages: page.map((message) => {
        const { metadata, ...rest } = messageAsSlackTells(message, workspace);
        return withMetadata && metadata !== undefined ? { ...rest, metadata } : rest;
      }),
      has_more: hasMore,
      response_metadata: { next_cursor: hasMore ? (page.at(-1)?.ts ?? '') : '' },
    };
  },

  'conversations.open'({ users, platform }, args) {
    const user = users.find(({ id }) => id === args.users);
    if (user === undefined) return failed('user_not_found');
    return { ok: true, channel: { id: platform.openDirect(user.id) } };
  },

  'users.lookupByEmail'({ users, team }, args) {
    const user = users.find(({ email }) => email !== undefined && email === args.email);
    if (user === undefined) return failed('users_not_found');
    const { id, name, email } = user;
    return { ok: true, user: { id, team_id: team, name, profile: { email: email ?? '' } } };
  },

  'users.info'({ users, team }, args) {
    const user = users.find(({ id, grid }) => id === args.user || grid?.user === args.user);
    if (user === undefined) return failed('user_not_found');
    const { id, name, email, grid, locale } = user;
    const withLocale = String(args.include_locale) === 'true' && locale !== undefined;
    return {
      ok: true,
      user: {
        ...{ id, team_id: team, name, real_name: name, deleted: false, is_bot: false },
        ...(withLocale && { locale }),
        profile: email === undefined ? {} : { email },
        ...(grid && {
          enterprise_user: { id: grid.user, enterprise_id: grid.organization, teams: [...grid.teams] },
        }),
      },
    };
  },
};

/** The chat that a call names: the channel, or a direct message that was opened; null for any other. */
const chatOf = ({ channel, platform }: Workspace, args: Readonly<Record<string, unknown>>): string | null =>
  args.channel === channel || platform.isDirect(args.channel) ? String(args.channel) : null;

/** A message as callbacks and histories carry it. */
export function messageAsSlackTells(message: SlackMessage, { team, appId }: Workspace): JsonObject {
  return {
    type: 'message',
    user: message.ours ? BOT.user : 'U0OTHERBOT',
    bot_id: message.ours ? BOT.bot : 'B0OTHERBOT',
    app_id: message.ours ? appId : 'A0OTHER',
    team,
    ts: message.ts,
    ...(message.threadTs === null ? {} : { thread_ts: message.threadTs }),
    text: message.text,
    blocks: message.blocks as JsonValue as JsonObject[],
    ...(message.edited ? { edited: { user: BOT.bot, ts: message.ts } } : {}),
    ...(message.metadata === null ? {} : { metadata: message.metadata }),
  };
}

const failed = (error: string): { readonly ok: false; readonly error: string } => ({ ok: false, error });

const refusedBlocks = (check: Extract<BlockCheck, { ok: false }>): Answer => ({
  ok: false,
  error: check.error,
  errors: [...check.messages],
  response_metadata: { messages: [...check.messages] },
});

const metadataShape = z.object({
  event_type: z.string().regex(/^[A-Za-z0-9_.-]{1,255}$/),
  event_payload: z.record(z.string(), z.json()),
});

type Content = MessageVersion & { readonly metadata: JsonObject | null };
type Checked =
  | { readonly content: Content; readonly refusal: null }
  | { readonly content: null; readonly refusal: Answer };

const refused = (refusal: Answer): Checked => ({ content: null, refusal });

/** What a message would show, or the answer that refuses it. */
function messageContent(args: Readonly<Record<string, unknown>>): Checked {
  const text = typeof args.text === 'string' ? args.text.slice(0, 40_000) : '';
  const check = checkMessageBlocks(args.blocks ?? []);
  if (!check.ok) return refused(refusedBlocks(check));
  const blocks = (args.blocks ?? []) as JsonObject[];
  if (text === '' && blocks.length === 0) return refused(failed('no_text'));
  const metadata = metadataShape.nullable().safeParse(args.metadata ?? null);
  if (!metadata.success) return refused(failed('invalid_metadata_format'));
  return { content: { text, blocks, metadata: metadata.data as JsonObject | null }, refusal: null };
}
