import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TelegramServer } from 'telegram-test-api/lib/telegramServer.js';
import type { InboundRequest } from '../../../src/channel/channel.ts';
import { freePort } from '../../support/free-port.ts';

export interface SentCall {
  readonly bot: string;
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface ShownMessage {
  readonly messageId: number;
  readonly text: string;
  readonly buttons: readonly { readonly text: string; readonly callback_data: string }[];
}

export interface Tapper {
  readonly user: number;
  readonly language?: string;
  readonly isBot?: boolean;
  readonly chat?: number;
}

/** What comes of the next call of a method, before or after the server has carried it out. */
type DoorFault =
  | {
      readonly kind: 'answer';
      readonly method: string;
      readonly status: number;
      readonly body: unknown;
      readonly carriedOut: boolean;
    }
  | { readonly kind: 'cut'; readonly method: string; readonly carriedOut: boolean }
  | { readonly kind: 'silence'; readonly method: string };

/** `url` null: calls are only written down. */
interface WebhookTarget {
  readonly url: string | null;
  readonly secret: string | null;
}

export const SECRET_HEADER = 'x-telegram-bot-api-secret-token';

export type TelegramRig = Awaited<ReturnType<typeof startTelegramRig>>;

/**
 * An independent server of the Bot API, behind a door that writes down what comes in, answers as told where a test
 * wants an error, and adds the secret to what goes out to a webhook, as Telegram does and that server does not.
 */
export async function startTelegramRig({ chat }: { readonly chat: number }) {
  const server = new TelegramServer({ port: await freePort(), host: '127.0.0.1' });
  await server.start();
  const calls: SentCall[] = [];
  const faults: DoorFault[] = [];
  const webhookAnswers: number[] = [];
  const webhookCalls: InboundRequest[] = [];
  let webhook: WebhookTarget | null = null;

  const door = createServer((request, response) => {
    // Both ends may go away in the middle, when a test stops.
    void serve(request, response).catch(() => response.destroy());
  });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request);
    const answer = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
    if (request.url === '/relay' && webhook !== null) {
      const headers = {
        'content-type': 'application/json',
        ...(webhook.secret !== null && { [SECRET_HEADER]: webhook.secret }),
      };
      webhookCalls.push({ headers, body: Buffer.from(body) });
      if (webhook.url !== null)
        webhookAnswers.push((await fetch(webhook.url, { method: 'POST', headers, body })).status);
      // That server knows no webhook that refuses.
      return answer(200, '{}');
    }
    const [, bot = '', method = ''] = /^\/bot(\d+):[^/]+\/(\w+)$/.exec(request.url ?? '') ?? [];
    calls.push({ bot, method, args: body === '' ? {} : JSON.parse(body) });
    const at = faults.findIndex((fault) => fault.method === method);
    const [fault] = at < 0 ? [] : faults.splice(at, 1);
    if (fault?.kind === 'silence') return;
    if (fault?.kind === 'cut' && !fault.carriedOut) return response.destroy();
    if (fault?.kind === 'answer' && !fault.carriedOut)
      return answer(fault.status, JSON.stringify(fault.body));
    const passed = await fetch(`${server.config.apiURL}${request.url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body === '' ? '{}' : body,
    });
    const text = await passed.text();
    if (fault?.kind === 'cut') return response.destroy();
    if (fault) return answer(fault.status, JSON.stringify(fault.body));
    return answer(passed.status, text);
  };
  await listen(door);
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;

  let stopped: Promise<void> | null = null;
  const stop = async () => {
    door.closeAllConnections();
    await new Promise((resolve) => door.close(resolve));
    await server.stop();
  };

  const clientOf = (botToken: string, { user, chat: elsewhere = chat }: Tapper) =>
    server.getClient(botToken, { userId: user, chatId: elsewhere, type: 'supergroup' as 'group' });
  const fromOf = ({ language, isBot = false }: Tapper) => ({
    is_bot: isBot,
    ...(language !== undefined && { language_code: language }),
  });

  return {
    url,
    /** HTTP statuses by which the webhook answered. */
    webhookAnswers,
    /** What the webhook was called with, answered or not. */
    webhookCalls,
    callsOf: (method: string) => calls.filter((call) => call.method === method),
    /** What everybody in the chat sees of one bot, as it stands now. */
    messagesOf: (botToken: string): readonly ShownMessage[] =>
      server.storage.botMessages
        .filter((update) => update.botToken === botToken)
        .map(({ messageId, message }) => ({
          messageId,
          text: message.text,
          buttons:
            ((message.reply_markup as { inline_keyboard?: ShownMessage['buttons'][] } | undefined)
              ?.inline_keyboard ?? [])[0] ?? [],
        })),
    callWebhook(botToken: string, target: WebhookTarget) {
      webhook = target;
      server.setWebhook({ url: `${url}/relay` }, botToken);
    },
    fail: (method: string, code: number, description: string, parameters = {}, carriedOut = false) => {
      const body = { ok: false, error_code: code, description, parameters };
      faults.push({ kind: 'answer', method, status: code, body, carriedOut });
    },
    /** The next answer to a method that the server does not have, or another one than it would give. */
    answer: (method: string, result: unknown) => {
      faults.push({ kind: 'answer', method, status: 200, body: { ok: true, result }, carriedOut: false });
    },
    /** The connection ends without an answer to the next call. */
    cut: (method: string, { carriedOut }: { readonly carriedOut: boolean }) => {
      faults.push({ kind: 'cut', method, carriedOut });
    },
    /** The next call is never answered. */
    keepSilent: (method: string) => void faults.push({ kind: 'silence', method }),
    /** Updates that a bot was given are given to it once more, as to one that did not say that it has them. */
    redeliver(botToken: string) {
      for (const update of server.storage.userMessages)
        if (update.botToken === botToken) update.isRead = false;
    },
    /** Whether updates wait for a bot to ask for them. */
    keepsUpdatesFor: (botToken: string) =>
      server.storage.userMessages.some((update) => update.botToken === botToken && !update.isRead),
    tap: (botToken: string, tapper: Tapper, messageId: number, data: string) => {
      const client = clientOf(botToken, tapper);
      const message = { message_id: messageId } as object;
      return client.sendCallback(client.makeCallbackQuery(data, { from: fromOf(tapper), message } as object));
    },
    replyTo: (
      botToken: string,
      tapper: Tapper,
      asked: ShownMessage,
      text: string,
      askedBy = Number(botToken.split(':')[0]),
    ) => {
      const client = clientOf(botToken, tapper);
      const reply_to_message = {
        message_id: asked.messageId,
        from: { id: askedBy, is_bot: true },
        chat: { id: tapper.chat ?? chat },
        text: asked.text,
      };
      return client.sendMessage(
        client.makeMessage(text, { from: fromOf(tapper), reply_to_message } as object),
      );
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
