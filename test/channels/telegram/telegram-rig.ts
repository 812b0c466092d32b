import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TelegramServer } from 'telegram-test-api/lib/telegramServer.js';
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

export type TelegramRig = Awaited<ReturnType<typeof startTelegramRig>>;

/**
 * An independent server of the Bot API, behind a door that writes down what comes in, answers as told where a test
 * wants an error, and adds the secret to what goes out to a webhook, as Telegram does and that server does not.
 */
export async function startTelegramRig({ chat }: { readonly chat: number }) {
  const server = new TelegramServer({ port: await freePort(), host: '127.0.0.1' });
  await server.start();
  const calls: SentCall[] = [];
  const faults: { readonly method: string; readonly status: number; readonly body: unknown }[] = [];
  const webhookAnswers: number[] = [];
  let webhook: { readonly url: string; readonly secret: string | null } | null = null;

  const door = createServer((request, response) => {
    // Both ends may go away in the middle, when a test stops.
    void serve(request, response).catch(() => response.destroy());
  });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request);
    const answer = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
    if (request.url === '/relay' && webhook !== null) {
      const relayed = await fetch(webhook.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(webhook.secret !== null && { 'x-telegram-bot-api-secret-token': webhook.secret }),
        },
        body,
      });
      webhookAnswers.push(relayed.status);
      // That server knows no webhook that refuses.
      return answer(200, '{}');
    }
    const [, bot = '', method = ''] = /^\/bot(\d+):[^/]+\/(\w+)$/.exec(request.url ?? '') ?? [];
    calls.push({ bot, method, args: body === '' ? {} : JSON.parse(body) });
    const at = faults.findIndex((fault) => fault.method === method);
    const [fault] = at < 0 ? [] : faults.splice(at, 1);
    if (fault) return answer(fault.status, JSON.stringify(fault.body));
    const passed = await fetch(`${server.config.apiURL}${request.url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body === '' ? '{}' : body,
    });
    return answer(passed.status, await passed.text());
  };
  await listen(door);
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;

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
    async callWebhook(botToken: string, target: { readonly url: string; readonly secret: string | null }) {
      webhook = target;
      server.setWebhook({ url: `${url}/relay` }, botToken);
    },
    fail: (method: string, code: number, description: string, parameters = {}) =>
      void faults.push({
        method,
        status: code,
        body: { ok: false, error_code: code, description, parameters },
      }),
    /** The next answer to a method that the server does not have. */
    answer: (method: string, result: unknown) =>
      void faults.push({ method, status: 200, body: { ok: true, result } }),
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
    async stop() {
      door.closeAllConnections();
      await new Promise((resolve) => door.close(resolve));
      await server.stop();
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
