import { Api, GrammyError, HttpError } from 'grammy';
import { z } from 'zod';
import { assertNever } from '../../src/assert-never.ts';
import { callDeadline } from '../../src/channel/call-deadline.ts';
import type { SendOutcome, UpdateOutcome } from '../../src/channel/channel.ts';
import { faultName, neverConnected } from '../../src/channel/never-connected.ts';
import { rateLimitWaitMs } from '../../src/channel/rate-limit-wait.ts';
import type { Clock } from '../../src/clock.ts';

/** Why Telegram refused, and will refuse the same again. */
export type TelegramRefusal =
  | 'token'
  /** The bot is not, or not any more, allowed to write there. */
  | 'forbidden'
  /** Another process polls, or a webhook is set. */
  | 'conflict'
  | 'not-modified'
  | 'message-gone'
  | 'content'
  | 'other';

/** What one call to the Bot API came to. The only place that knows Telegram's errors. */
export type TelegramResult =
  | { readonly kind: 'ok'; readonly data: unknown }
  /** Nothing was done; may be tried again, not before `retryAfterMs`. */
  | { readonly kind: 'not-done'; readonly error: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'refused'; readonly why: TelegramRefusal; readonly error: string }
  /** Nobody knows whether Telegram did it. */
  | { readonly kind: 'uncertain'; readonly error: string };

export type TelegramMethod =
  | 'getMe'
  | 'getChat'
  | 'getUpdates'
  | 'getWebhookInfo'
  | 'sendMessage'
  | 'editMessageText'
  | 'answerCallbackQuery';

export interface TelegramCall {
  readonly method: TelegramMethod;
  /** Absent for methods that take none. */
  readonly args?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface TelegramClient {
  /** One attempt, never repeated in here: `sendMessage` has no idempotency key. Never throws. */
  call(call: TelegramCall): Promise<TelegramResult>;
}

const DEFAULT_TIMEOUT_MS = 10_000;

export function createTelegramClient(settings: {
  readonly apiUrl: string;
  readonly botToken: string;
  readonly clock: Clock;
}): TelegramClient {
  return {
    async call({ method, args, signal, timeoutMs = DEFAULT_TIMEOUT_MS }) {
      if (signal?.aborted) return { kind: 'not-done', error: `${method}: stopped`, retryAfterMs: null };
      let status: number | null = null;
      const deadline = callDeadline({ clock: settings.clock, timeoutMs, signals: signal ? [signal] : [] });
      // The library's own fetch knows neither the platform's AbortSignal nor the status of an answer without JSON.
      const boundFetch = async (url: string, init: RequestInit) => {
        const response = await fetch(url, {
          method: 'POST',
          headers: init.headers ?? {},
          body: init.body ?? null,
          // The address holds the token.
          redirect: 'error',
          signal: deadline.signal,
        });
        status = response.status;
        return response;
      };
      const api = new Api(settings.botToken, {
        apiRoot: settings.apiUrl,
        // A little more than ours, which ends the request itself.
        timeoutSeconds: timeoutMs / 1000 + 5,
        fetch: boundFetch as unknown as typeof fetch,
      });
      const raw = api.raw as unknown as Readonly<
        Record<TelegramMethod, (args?: unknown) => Promise<unknown>>
      >;
      try {
        return { kind: 'ok', data: args === undefined ? await raw[method]() : await raw[method](args) };
      } catch (error) {
        return classify(method, error, status);
      } finally {
        deadline.clear();
      }
    },
  };
}

/** By what the description of a 400 says (there is no finer code); the first that matches. */
const REFUSALS: readonly (readonly [RegExp, TelegramRefusal])[] = [
  [/message is not modified/i, 'not-modified'],
  [/message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i, 'message-gone'],
  [/message is too long|MESSAGE_TOO_LONG|text is empty|BUTTON_|ENTITY_|ENTITIES_/i, 'content'],
  [
    /chat not found|upgraded to a supergroup|user is deactivated|not enough rights|have no rights/i,
    'forbidden',
  ],
];

function classify(method: TelegramMethod, error: unknown, status: number | null): TelegramResult {
  if (error instanceof GrammyError && Number.isInteger(error.error_code))
    return classifyAnswer(method, error);
  const cause = error instanceof HttpError ? error.error : error;
  if (status === 429) return rateLimited(method);
  if (status !== null) return { kind: 'uncertain', error: `${method}: unreadable answer (HTTP ${status})` };
  if (neverConnected(cause))
    return { kind: 'not-done', error: `${method}: cannot connect (${faultName(cause)})`, retryAfterMs: null };
  return { kind: 'uncertain', error: `${method}: no answer (${faultName(cause)})` };
}

function classifyAnswer(method: TelegramMethod, error: GrammyError): TelegramResult {
  const { error_code: code, parameters } = error;
  const description = String(error.description);
  const text = `${method}: ${code} ${description.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)}`;
  if (code === 429) {
    return rateLimited(method, z.number().positive().safeParse(parameters.retry_after).data);
  }
  if (code >= 500) return { kind: 'uncertain', error: text };
  if (code === 401 || code === 404) return { kind: 'refused', why: 'token', error: text };
  if (code === 403) return { kind: 'refused', why: 'forbidden', error: text };
  if (code === 409) return { kind: 'refused', why: 'conflict', error: text };
  const why = REFUSALS.find(([pattern]) => pattern.test(description))?.[1] ?? 'other';
  return { kind: 'refused', why, error: text };
}

const rateLimited = (method: TelegramMethod, seconds?: number): TelegramResult => ({
  kind: 'not-done',
  error: `${method}: rate limited`,
  retryAfterMs: rateLimitWaitMs(seconds),
});

export function toSendOutcome(result: Exclude<TelegramResult, { kind: 'ok' }>): SendOutcome {
  switch (result.kind) {
    case 'not-done':
      return { kind: 'retry', error: result.error, retryAfterMs: result.retryAfterMs };
    case 'refused':
      return { kind: result.why === 'content' ? 'content-refused' : 'refused', error: result.error };
    case 'uncertain':
      return result;
    default:
      return assertNever(result);
  }
}

/** `editMessageText` is idempotent: what is uncertain is done again, and is then "not modified". */
export function toUpdateOutcome(result: TelegramResult): UpdateOutcome {
  switch (result.kind) {
    case 'ok':
      return { kind: 'updated' };
    case 'not-done':
      return { kind: 'retry', error: result.error, retryAfterMs: result.retryAfterMs };
    case 'refused':
      if (result.why === 'not-modified') return { kind: 'updated' };
      if (result.why === 'message-gone') return { kind: 'gone', error: result.error };
      return { kind: result.why === 'content' ? 'content-refused' : 'refused', error: result.error };
    case 'uncertain':
      return result;
    default:
      return assertNever(result);
  }
}
