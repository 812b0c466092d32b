import type { StandinOperation } from '../../../src/standin/feishu/fault-queue.ts';
import { type FeishuStandin, startFeishuStandin } from '../../../src/standin/feishu/start-feishu-standin.ts';
import { type ChatId, CodeIndex, type TrafficChat } from './chat.ts';
import { feishuUnion, PEOPLE } from './people.ts';
import type { SendErrors } from './send-errors.ts';

const APP_SECRET = 'feishu-app-secret';
const ENCRYPT_KEY = 'feishu-encrypt-key';
const VERIFICATION_TOKEN = 'feishu-verification-token';
const TENANT = '2f0acme';
const APP_IDS = { webhook: 'cli_a1b2c3d4e5f60718', 'long-connection': 'cli_a1b2c3d4e5f60719' } as const;

/** What the calls make that send something. */
const MAKES: Readonly<Partial<Record<StandinOperation, 'card' | 'note' | 'change'>>> = {
  create: 'card',
  reply: 'note',
  patch: 'change',
};

/** A group in Feishu, and the `channels[]` entry for it. People have one open id an app, and one union id. */
export async function startFeishuChat(input: {
  readonly id: ChatId;
  readonly mode: 'long-connection' | 'webhook';
  readonly messagesPerSecond: number;
  /** Of the process that runs now. */
  readonly serviceUrl: () => string;
  readonly errors: SendErrors;
}): Promise<{ readonly chat: TrafficChat; readonly settings: string }> {
  const { id, mode, messagesPerSecond, serviceUrl, errors } = input;
  const appId = APP_IDS[mode];
  const group = `oc_${id.replace('-', '_')}`;
  const openId = (person: number) => `ou_${id.replace('-', '_')}_${person}`;
  const feishu = await startFeishuStandin({
    ...{ appId, appSecret: APP_SECRET, encryptKey: ENCRYPT_KEY, verificationToken: VERIFICATION_TOKEN },
    ...{ tenant: TENANT, chat: group, longConnection: mode === 'long-connection' },
    users: Array.from({ length: PEOPLE }, (_, person) => ({
      openId: openId(person),
      unionId: feishuUnion(person),
      name: feishuUnion(person),
    })),
    callbackUrl: () => `${serviceUrl()}/channels/${id}/callback`,
  });
  feishu.faults.follow((operation, body) => {
    const makes = MAKES[operation];
    if (makes === undefined) return null;
    switch (errors.next(id, { makes, text: String(body.content) })) {
      case '500':
        return { kind: 'answer', status: 500, body: { code: 1, msg: 'internal error' } };
      case '429':
        return {
          ...{
            kind: 'answer',
            status: 429,
            body: { code: 99991400, msg: 'request trigger frequency limit' },
          },
          headers: { 'x-ogw-ratelimit-reset': '1' },
        };
      case 'timeout after accept':
        return { kind: 'silence', carriedOut: true };
      case null:
        return null;
    }
  });
  const proof = mode === 'webhook' ? `encryptKey: ${ENCRYPT_KEY}, ` : '';
  return {
    chat: feishuChat(id, feishu, openId),
    settings: `{ id: ${id}, kind: feishu, mode: ${mode}, domain: "${feishu.url}", appId: ${appId}, appSecret: ${APP_SECRET}, ${proof}verificationToken: ${VERIFICATION_TOKEN}, tenant: ${TENANT}, chat: ${group}, messagesPerSecond: ${messagesPerSecond} }`,
  };
}

function feishuChat(id: ChatId, feishu: FeishuStandin, openId: (person: number) => string): TrafficChat {
  const codes = new CodeIndex();
  let read = 0;
  feishu.onChange(() => {
    const messages = feishu.messages();
    for (const { messageId, card, replyTo } of messages.slice(read))
      if (replyTo === null) codes.add(messageId, JSON.stringify(card));
    read = messages.length;
  });
  return {
    id,
    since: (code) => codes.since(code),
    cardsOf: (code) => codes.messagesOf(code),
    look(messageId) {
      const card = feishu.messages().find((message) => message.messageId === messageId)?.card;
      const text = JSON.stringify(card);
      return {
        title: titleOf(text),
        text,
        canDecide: feishu.buttons(messageId).some(({ url }) => url === null),
      };
    },
    notesUnder: (messageId) => feishu.messages().filter(({ replyTo }) => replyTo === messageId).length,
    async tap({ person, messageId, verdict }) {
      // Gone from the card: it was closed before this person got to it.
      const decides = feishu.buttons(messageId).some(pressing(verdict));
      if (!decides) return { kind: 'answered', elapsedMs: 0 };
      const startedAt = performance.now();
      const formValue = { reason: verdict === 'reject' ? 'not as agreed' : '' };
      const result = await feishu.tap({
        openId: openId(person),
        messageId,
        element: pressing(verdict),
        formValue,
      });
      return result.kind === 'toast'
        ? { kind: 'answered', elapsedMs: performance.now() - startedAt }
        : { kind: 'unanswered' };
    },
    disconnect(how) {
      for (const connection of feishu.longConnections?.connections() ?? [])
        if (how === 'cut') connection.cut();
        else connection.close();
    },
    counts: () => ({
      cards: feishu.messages().filter(({ replyTo }) => replyTo === null).length,
      notes: feishu.messages().filter(({ replyTo }) => replyTo !== null).length,
      changes: feishu.messages().reduce((sum, { contents }) => sum + contents.length - 1, 0),
    }),
    stop: () => feishu.stop(),
  };
}

const pressing =
  (verdict: string) =>
  ({ name, value }: { readonly name: string | null; readonly value: { readonly action?: unknown } | null }) =>
    value?.action === verdict || (name?.startsWith(verdict) ?? false);

/** The headline in English, which every card carries beside the Chinese one. */
const titleOf = (card: string): string =>
  /"title":\{.*?"en_us":"((?:[^"\\]|\\.)*)"/.exec(card)?.[1] ??
  /"title":\{.*?"content":"((?:[^"\\]|\\.)*)"/.exec(card)?.[1] ??
  '';
