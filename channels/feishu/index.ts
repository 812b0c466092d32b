import type { Notice } from '../../src/channel/card.ts';
import type {
  Channel,
  ChannelAnswer,
  InboundResult,
  OutgoingUpdate,
  SendOutcome,
  UpdateOutcome,
} from '../../src/channel/channel.ts';
import type { ChannelInput, ChannelKind } from '../../src/channel/channel-kind.ts';
import { jsonAnswer } from '../../src/channel/http-answers.ts';
import { withConnections } from '../../src/channel/inbound-connection.ts';
import type { CallbackReply } from '../../src/channel/inbound-event.ts';
import type { Locale } from '../../src/locale.ts';
import { feishuAdvice } from './advice.ts';
import { createFeishuClient } from './client.ts';
import { type FeishuSettings, feishuIdentity, feishuSettings } from './config.ts';
import { diagnoseFeishu } from './diagnose.ts';
import { resolveMember } from './directory.ts';
import { FeishuLongConnection } from './long-connection.ts';
import { parseCallback } from './parse.ts';
import { renderCard } from './render.ts';
import { verifyCallback } from './verify.ts';

/** Feishu and Lark: cards in one group, taps by signed callback or over a long connection of our own. */
export const feishuChannelKind: ChannelKind<FeishuSettings> = {
  kind: 'feishu',
  settings: feishuSettings,
  identity: feishuIdentity,
  secrets: (settings) =>
    [
      settings.appSecret,
      settings.mode === 'webhook' ? settings.encryptKey : '',
      settings.verificationToken,
    ].filter((secret) => secret !== ''),
  create: createFeishuChannel,
};

function createFeishuChannel(input: ChannelInput<FeishuSettings>): Channel {
  const { settings, clock, locale, logger } = input;
  const client = createFeishuClient({ settings, clock, logger });
  const connection =
    settings.mode === 'long-connection' ? new FeishuLongConnection({ settings, clock, logger }) : null;
  let state: 'new' | 'started' | 'stopped' = 'new';
  let warmUp: Promise<void> | null = null;

  async function changeCard(
    change: Pick<OutgoingUpdate, 'messageId' | 'rendered' | 'signal'>,
  ): Promise<UpdateOutcome> {
    // The SDK and the platform take path segments as they come, so an id with a slash would reach another call.
    if (!MESSAGE_ID.test(change.messageId)) return { kind: 'refused', error: 'not a Feishu message id' };
    const result = await client.call({
      method: 'PATCH',
      path: `/open-apis/im/v1/messages/${change.messageId}`,
      body: { content: change.rendered.payload },
      signal: change.signal,
    });
    switch (result.kind) {
      case 'done':
        return { kind: 'updated' };
      case 'refused':
        if (result.why === 'message-gone') return { kind: 'gone', error: result.error };
        return { kind: result.why === 'content' ? 'content-refused' : 'refused', error: result.error };
      case 'uncertain':
      case 'retry':
        return result;
    }
  }

  return {
    id: input.id,
    kind: 'feishu',
    locale,
    ...(connection && { connection }),
    address: { provider: 'feishu', app: settings.appId, tenant: settings.tenant, chat: settings.chat },

    // "5 QPS per group, shared by all bots" for sending; changes are limited by the message and the app (50 a second,
    // 1,000 a minute). A JSON 2.0 card can be changed and tapped for 14 days (open.feishu.cn).
    pace: {
      messages: { perSecond: settings.messagesPerSecond, burst: 1 },
      changes: { perSecond: Math.max(settings.messagesPerSecond, 5), burst: 5 },
    },
    cardLifetimeMs: 14 * 86_400_000,

    async start() {
      // Not waited for: a platform that is down must not stop the start, and taps need no token.
      warmUp = client.warmUp();
      state = 'started';
    },

    async stop() {
      state = 'stopped';
      await connection?.close();
      client.close();
      await warmUp;
    },

    health() {
      if (state !== 'started') return { ready: false, detail: state === 'new' ? 'not started' : 'stopped' };
      const fault = client.credentialFault();
      const health = fault
        ? { ready: false, detail: `Feishu refuses the app's credentials: ${fault}` }
        : { ready: true, detail: connection ? 'takes taps over a long connection' : 'waits for callbacks' };
      return withConnections(health, connection?.status());
    },

    async receive(request): Promise<InboundResult> {
      if (settings.mode !== 'webhook')
        return { kind: 'refused', reason: 'taps come over the long connection' };
      const verified = verifyCallback({ request, proof: settings, nowMs: clock.now() });
      switch (verified.kind) {
        case 'refused':
          return verified;
        case 'challenge':
          return { kind: 'answered', answer: jsonAnswer({ challenge: verified.challenge }) };
        case 'callback':
          return { kind: 'event', event: parseCallback(verified.payload) };
      }
    },

    reply: (_event, reply) => toast(reply, locale),

    resolve: (input) => resolveMember({ ...input, client, tenant: settings.tenant }),

    render: (card, token) => renderCard({ card, token, chat: settings.chat }),

    async send({ id, direct, rendered, attempt, signal }): Promise<SendOutcome> {
      const receiver = direct ? receiverOf(direct.ids) : { idType: 'chat_id', id: settings.chat };
      if (receiver === null)
        return { kind: 'refused', error: 'no openId, unionId, userId or email of this person is known' };
      const result = await client.call({
        method: 'POST',
        path: '/open-apis/im/v1/messages',
        params: { receive_id_type: receiver.idType },
        // The platform makes at most one message of one uuid within an hour, so a resend finds the first.
        body: { receive_id: receiver.id, msg_type: 'interactive', content: rendered.payload, uuid: id },
        signal,
      });
      if (result.kind === 'refused' && result.why === 'content')
        return { kind: 'content-refused', error: result.error };
      if (result.kind !== 'done') return result;
      const messageId = messageIdIn(result.data);
      if (messageId === null)
        return { kind: 'uncertain', error: 'Feishu took the card and named no message' };
      // A message that an earlier attempt made still shows what that attempt drew.
      const outcome = attempt > 1 ? await changeCard({ messageId, rendered, signal }) : null;
      // Earlier attempts stay on record as possibly arrived, so a `retry` comes back here and not to a first send.
      return outcome?.kind === 'retry' || outcome?.kind === 'uncertain'
        ? outcome
        : { kind: 'sent', messageId, ...(direct && chatIn(result.data)) };
    },

    update: changeCard,

    diagnose: (input) => diagnoseFeishu({ ...input, settings, client, clock, connection }),
    advise: feishuAdvice,

    async remind({ id, messageId, text, signal }): Promise<SendOutcome> {
      if (!MESSAGE_ID.test(messageId)) return { kind: 'refused', error: 'not a Feishu message id' };
      const result = await client.call({
        method: 'POST',
        path: `/open-apis/im/v1/messages/${messageId}/reply`,
        body: { msg_type: 'interactive', content: noteCard(text), uuid: id },
        signal,
      });
      if (result.kind !== 'done') return result;
      return { kind: 'sent', messageId: messageIdIn(result.data) ?? messageId };
    },
  };
}

/** A card of one plain text: a text message would read `<at …>` in it as a mention. */
const noteCard = (text: string): string =>
  JSON.stringify({
    schema: '2.0',
    config: { update_multi: true },
    body: { elements: [{ tag: 'div', text: { tag: 'plain_text', content: text } }] },
  });

const MESSAGE_ID = /^om_[A-Za-z0-9_-]{1,128}$/;

/** As Feishu advises, an id that is the same in all apps of a developer comes first; an address is the last resort. */
function receiverOf(ids: Readonly<Record<string, string>>) {
  for (const [kind, idType] of RECEIVER_IDS) {
    const id = ids[kind];
    if (id !== undefined) return { idType, id };
  }
  return null;
}

const RECEIVER_IDS = [
  ['unionId', 'union_id'],
  ['openId', 'open_id'],
  ['userId', 'user_id'],
  ['email', 'email'],
] as const;

/** The direct message that the platform has opened for it. */
function chatIn(data: unknown): { readonly chat: string } | null {
  if (typeof data !== 'object' || data === null || !('chat_id' in data)) return null;
  const { chat_id: chat } = data;
  return typeof chat === 'string' && /^oc_[A-Za-z0-9_-]{1,128}$/.test(chat) ? { chat } : null;
}

function messageIdIn(data: unknown): string | null {
  if (typeof data !== 'object' || data === null || !('message_id' in data)) return null;
  const { message_id: id } = data;
  return typeof id === 'string' && MESSAGE_ID.test(id) ? id : null;
}

/**
 * The answer within the platform's three seconds: always a toast and never a card. The delivery worker is the only
 * writer of cards, since a card in the answer and a PATCH in flight overwrite each other.
 */
function toast(reply: CallbackReply, locale: Locale): ChannelAnswer {
  const { level, text } = noticeOf(reply);
  return {
    answer: jsonAnswer({
      toast: {
        type: level,
        content: text[locale],
        i18n: { zh_cn: text['zh-CN'], en_us: text['en-US'] },
      },
    }),
  };
}

function noticeOf(reply: CallbackReply): Notice {
  switch (reply.kind) {
    case 'notice':
      return reply.notice;
    case 'reason-missing':
      return { level: 'warning', text: reply.notice.text };
    case 'ask-reason':
      // Nothing can be opened on a callback; a card that needs a reason carries the form from the start.
      return { level: 'warning', text: reply.failure.text };
  }
}
