import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import * as lark from '@larksuiteoapi/node-sdk';
import axios, { type AxiosResponse, isAxiosError } from 'axios';
import type { Logger } from 'pino';
import { z } from 'zod';
import { callDeadline } from '../../src/channel/call-deadline.ts';
import { neverConnected } from '../../src/channel/never-connected.ts';
import type { Clock } from '../../src/clock.ts';
import type { FeishuSettings } from './config.ts';
import { API_TIMEOUT_MS, MAX_API_ANSWER_BYTES } from './limits.ts';
import { rateLimitReset } from './rate-limit-reset.ts';
import { TenantToken, type TokenRequest } from './tenant-token.ts';

export interface FeishuClient {
  call(request: ApiRequest): Promise<ApiResult>;
  /** Asks for a token, so that wrong credentials are known before the first card. */
  warmUp(): Promise<void>;
  /** Null while nothing says that the credentials are bad; otherwise what the platform said. */
  credentialFault(): string | null;
  /** Ends every call in flight. */
  close(): void;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Already safe: no part of it is taken from outside unchecked. */
  readonly path: `/open-apis/${string}`;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** What became of one call, classified once; `error` is fit for operators and holds no secret. */
export type ApiResult =
  | { readonly kind: 'done'; readonly data: unknown }
  /** It may have been carried out: no answer, a 5xx, or a message still being sent under this `uuid`. */
  | { readonly kind: 'uncertain'; readonly error: string }
  /** It was not carried out, and may be later. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryAfterMs: number | null }
  /** It was not carried out and never will be as it stands. */
  | { readonly kind: 'refused'; readonly error: string; readonly why?: RefusalReason };

/** A refusal of which the caller can make something. */
export type RefusalReason = 'no-such-member' | 'content' | 'message-gone';

/**
 * The official SDK's client, made fit for a gate: a time-out, no proxy from the environment, no redirects, a cache
 * of its own, our token instead of its manager (no single flight, no retry after a refused token), `code != 0`
 * treated as the error it is, and nothing of requests or secrets in the log. Errors: open.feishu.cn, "General error
 * codes" and "Send message".
 */
export function createFeishuClient(input: {
  readonly settings: FeishuSettings;
  readonly clock: Clock;
  readonly logger: Logger;
}): FeishuClient {
  const { settings, clock, logger } = input;
  const http = createHttp();
  const closing = new AbortController();
  const sdk = new lark.Client({
    appId: settings.appId,
    appSecret: settings.appSecret,
    domain: settings.domain,
    httpInstance: http,
    cache: new lark.DefaultCache(),
    // With this the SDK adds no authorization of its own; each call carries our token.
    disableTokenCache: true,
    logger: quietLogger(logger),
  });
  let credentialFault: string | null = null;
  const token = new TenantToken({ clock, request: requestToken });

  async function requestToken(): ReturnType<TokenRequest> {
    const deadline = callDeadline({ clock, timeoutMs: API_TIMEOUT_MS, signals: [closing.signal] });
    try {
      const response = await sdk.request<AxiosResponse>({
        method: 'POST',
        url: '/open-apis/auth/v3/tenant_access_token/internal',
        data: { app_id: settings.appId, app_secret: settings.appSecret },
        signal: deadline.signal,
      });
      const result = classifyAnswer(response);
      credentialFault = result.kind === 'refused' ? result.error : null;
      if (result.kind === 'done') return { kind: 'answered', body: response.data };
      return noToken(result.error, {
        permanent: result.kind === 'refused',
        retryAfterMs: result.kind === 'retry' ? result.retryAfterMs : null,
      });
    } catch (error) {
      return noToken(describeFailure(error), { permanent: false, retryAfterMs: null });
    } finally {
      deadline.clear();
    }
  }

  async function callWith(accessToken: string, request: ApiRequest): Promise<ApiResult | 'token-refused'> {
    const deadline = callDeadline({
      clock,
      timeoutMs: API_TIMEOUT_MS,
      signals: [request.signal, closing.signal],
    });
    try {
      const response = await sdk.request<AxiosResponse>(
        {
          method: request.method,
          url: request.path,
          params: request.params ?? {},
          ...(request.body && { data: request.body }),
          signal: deadline.signal,
        },
        lark.withTenantToken(accessToken),
      );
      if (TOKEN_REFUSED.has(answerOf(response)?.code ?? 0)) return 'token-refused';
      return classifyAnswer(response);
    } catch (error) {
      const description = describeFailure(error);
      return neverConnected(error)
        ? { kind: 'retry', error: description, retryAfterMs: null }
        : { kind: 'uncertain', error: description };
    } finally {
      deadline.clear();
    }
  }

  return {
    async call(request) {
      for (const lastTry of [false, true]) {
        const current = await token.get();
        if (request.signal.aborted || closing.signal.aborted)
          return { kind: 'retry', error: 'stopped before anything was sent', retryAfterMs: null };
        if (current.kind === 'failed')
          return current.permanent
            ? { kind: 'refused', error: current.error }
            : { kind: 'retry', error: current.error, retryAfterMs: current.retryAfterMs };
        const result = await callWith(current.token, request);
        if (result !== 'token-refused') return result;
        token.drop(current.token);
        if (lastTry) break;
      }
      return { kind: 'refused', error: 'Feishu refuses a token it has just issued' };
    },
    async warmUp() {
      const result = await token.get();
      if (result.kind === 'failed') logger.warn({ error: result.error }, 'feishu gave no token at start');
    },
    credentialFault: () => credentialFault,
    close: () => closing.abort(new Error('the channel stops')),
  };
}

const noToken = (
  error: string,
  more: { readonly permanent: boolean; readonly retryAfterMs: number | null },
) => ({ kind: 'failed', error: `no token: ${error}`, ...more }) as const;

function createHttp(): lark.HttpInstance {
  const http = axios.create({
    timeout: API_TIMEOUT_MS,
    proxy: false,
    maxRedirects: 0,
    maxContentLength: MAX_API_ANSWER_BYTES,
    // A socket kept alive can be closed by the platform just as a card is written to it; cards are few.
    httpAgent: new HttpAgent({ keepAlive: false }),
    httpsAgent: new HttpsAgent({ keepAlive: false }),
    validateStatus: () => true,
  });
  // The SDK hands on what its HTTP client returns. Its type expects bodies; this one returns whole responses,
  // because status and headers decide here.
  return http as unknown as lark.HttpInstance;
}

const apiAnswer = z.object({ code: z.int(), msg: z.string().nullish(), data: z.unknown().optional() });

const answerOf = (response: AxiosResponse) => apiAnswer.safeParse(response.data).data ?? null;

/** The tenant token is unknown, malformed or expired to the platform. */
const TOKEN_REFUSED = new Set([99991663, 99991664, 99991668, 99991677]);
/** Too many requests: of the app, to this chat, or of this message. */
const RATE_LIMITED = new Set([99991400, 230020, 11232, 11233, 11247]);
/** "The message is being sent": an earlier attempt with the same `uuid` is under way. */
const STILL_SENDING = 230049;

const REFUSAL_REASONS: ReadonlyMap<number, RefusalReason> = new Map([
  // Of the directory: an id that nobody has, or of a member outside what the app may see (41050).
  ...[41012, 41050, 99992351].map((code) => [code, 'no-such-member'] as const),
  // What the card says: personal data (230022), the audit of content (230028), too large (230025), a bad card (230099).
  ...[230022, 230025, 230028, 230099].map((code) => [code, 'content'] as const),
  // Recalled, deleted, older than 14 days.
  ...[230011, 230031, 230110].map((code) => [code, 'message-gone'] as const),
]);

/**
 * Families that say no for good: 100xx credentials (10003 app id, 10014 secret), 230xxx to 232xxx messages (230002 not in the
 * chat, 230013, 230053 and 230006 not reachable, 230022 and 230028 content refused, 230025 too large, 230031 too
 * old, 230099 bad card) and chats (232009 dissolved), 99991xxx the gateway (99991672 missing permission, 99991401 address not allowed).
 * Whatever is in no family may pass, and ends by the delivery's own time limit.
 */
const refusesForGood = (code: number): boolean =>
  (code >= 10_000 && code < 10_100) ||
  (code >= 230_000 && code < 233_000) ||
  (code >= 99_991_000 && code < 99_992_000);

function classifyAnswer(response: AxiosResponse): ApiResult {
  const { status } = response;
  const answer = answerOf(response);
  if (answer?.code === 0 && status < 300) return { kind: 'done', data: answer.data };
  const error = answer
    ? `Feishu answered ${answer.code} (HTTP ${status}): ${printable(answer.msg ?? '')}`
    : `Feishu answered HTTP ${status} without a result`;
  if (status === 429 || (answer && RATE_LIMITED.has(answer.code)))
    return { kind: 'retry', error, retryAfterMs: rateLimitReset(response) };
  if (status >= 500 || answer?.code === STILL_SENDING) return { kind: 'uncertain', error };
  const why = answer && REFUSAL_REASONS.get(answer.code);
  if (why) return { kind: 'refused', error, why };
  if (!answer)
    return status < 300 ? { kind: 'uncertain', error } : { kind: 'retry', error, retryAfterMs: null };
  return refusesForGood(answer.code)
    ? { kind: 'refused', error }
    : { kind: 'retry', error, retryAfterMs: null };
}

/** An axios error holds the request, app secret included: only its code is told. */
function describeFailure(error: unknown): string {
  if (!isAxiosError(error)) return 'the call to Feishu failed';
  if (error.code === 'ERR_CANCELED') return 'the call to Feishu was stopped or timed out';
  return `the call to Feishu failed (${error.code ?? 'no code'})`;
}

const printable = (text: string): string => text.replace(/[^\P{C} ]/gu, ' ').slice(0, 300);

/** The SDK logs raw axios errors with the app secret and whole cards; only that it had something to say passes. */
function quietLogger(logger: Logger): ConstructorParameters<typeof lark.Client>[0]['logger'] & object {
  const failed = () => logger.debug('the feishu SDK reports a failed call');
  const ignore = () => {};
  return { error: failed, warn: failed, info: ignore, debug: ignore, trace: ignore };
}
