import {
  type FetchFunction,
  type Logger,
  LogLevel,
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
  WebClient,
} from '@slack/web-api';
import { z } from 'zod';
import { assertNever } from '../../src/assert-never.ts';
import type { ChannelHealth, SendOutcome, UpdateOutcome } from '../../src/channel/channel.ts';
import { faultName, neverConnected } from '../../src/channel/never-connected.ts';
import { rateLimitWaitMs } from '../../src/channel/rate-limit-wait.ts';

/** What one call to the Web API came to. The only place that knows Slack's errors. */
export type SlackResult =
  | { readonly kind: 'ok'; readonly data: unknown }
  /**
   * Nothing reached Slack, or Slack said that it did nothing: may be tried again, not before `retryAfterMs`.
   * `answered` says that it was the Web API itself that said so.
   */
  | {
      readonly kind: 'not-done';
      readonly error: string;
      readonly retryAfterMs: number | null;
      readonly answered: boolean;
    }
  /** Slack refused, and will refuse the same again. `code` is Slack's own. */
  | { readonly kind: 'refused'; readonly code: string; readonly error: string }
  /** Nobody knows whether Slack did it: no answer, a broken connection, or an error in the middle. */
  | { readonly kind: 'uncertain'; readonly error: string };

export interface SlackCall {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface SlackClient {
  /** One attempt, never repeated in here: `chat.postMessage` has no idempotency key. Never throws. */
  call(call: SlackCall): Promise<SlackResult>;
}

const DEFAULT_TIMEOUT_MS = 10_000;

export function createSlackClient(settings: {
  readonly apiUrl: string;
  readonly botToken: string;
}): SlackClient {
  return {
    async call({ method, args, signal, timeoutMs = DEFAULT_TIMEOUT_MS }) {
      if (signal?.aborted) return notDone(`${method}: stopped`);
      let status: number | null = null;
      // A WebClient has no signal of its own for one call, so each call has a client, bound to its signal.
      const boundFetch: FetchFunction = async (url, init = {}) => {
        const signals = [init.signal, signal].filter((one) => one !== undefined);
        const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) });
        status = response.status;
        return response;
      };
      const client = new WebClient(settings.botToken, {
        slackApiUrl: settings.apiUrl,
        timeout: timeoutMs,
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        allowAbsoluteUrls: false,
        fetch: boundFetch,
        logger: silentLogger,
      });
      try {
        return { kind: 'ok', data: await client.apiCall(method, { ...args }) };
      } catch (error) {
        return classify(method, error, status);
      }
    },
  };
}

/** `ok: false` answers after which the same call can never work. Anything not listed may pass, or is tried again. */
const REFUSED_FOR_GOOD: ReadonlySet<string> = new Set([
  // The token or the app.
  ...['not_authed', 'invalid_auth', 'token_revoked', 'token_expired', 'account_inactive', 'no_permission'],
  ...['missing_scope', 'not_allowed_token_type', 'org_login_required', 'ekm_access_denied', 'access_denied'],
  ...['team_access_not_granted', 'team_not_found', 'user_is_bot', 'user_is_restricted'],
  // The chat.
  ...['channel_not_found', 'not_in_channel', 'is_archived', 'is_inactive', 'user_not_in_channel'],
  ...['restricted_action', 'restricted_action_read_only_channel', 'restricted_action_non_threadable_channel'],
  ...['restricted_action_thread_only_channel', 'restricted_action_thread_locked', 'channel_is_archived'],
  ...['method_not_supported_for_channel_type'],
  // The message.
  ...['invalid_blocks', 'invalid_blocks_format', 'msg_too_long', 'msg_blocks_too_long', 'no_text'],
  ...['invalid_arguments', 'invalid_arg_name', 'metadata_too_large', 'invalid_metadata_format'],
  ...['invalid_metadata_schema', 'metadata_must_be_sent_from_app', 'markdown_text_conflict'],
  ...['message_not_found', 'cant_update_message', 'edit_window_closed', 'invalid_ts', 'thread_not_found'],
  // The member.
  ...['user_not_found', 'user_not_visible', 'users_not_found', 'user_disabled', 'cannot_dm_bot'],
  // The modal.
  ...[
    'expired_trigger_id',
    'exchanged_trigger_id',
    'invalid_trigger_id',
    'invalid_trigger',
    'view_too_large',
  ],
]);

/** What the message says is too much, or not what Slack takes: one that says less may be. */
const CONTENT_REFUSED: ReadonlySet<string> = new Set([
  ...['invalid_blocks', 'invalid_blocks_format', 'msg_too_long', 'msg_blocks_too_long', 'no_text'],
]);
const GONE: ReadonlySet<string> = new Set(['message_not_found', 'edit_window_closed']);

/** Slack says of these that part of the work may have been done. */
const HALF_DONE: ReadonlySet<string> = new Set(['internal_error', 'fatal_error']);

function classify(method: string, error: unknown, status: number | null): SlackResult {
  if (error instanceof WebAPIRateLimitedError) {
    return rateLimited(method, error.retryAfter);
  }
  // A 429 without a readable `Retry-After`.
  if (status === 429) return rateLimited(method);
  if (error instanceof WebAPIPlatformError) return classifyCode(method, error);
  if (error instanceof WebAPIHTTPError) {
    const text = `${method}: HTTP ${error.statusCode}`;
    // Something in between may have spoiled the answer to what Slack has done.
    if (error.statusCode >= 500 || error.statusCode < 300) return { kind: 'uncertain', error: text };
    return { kind: 'not-done', error: text, retryAfterMs: null, answered: true };
  }
  const cause = error instanceof WebAPIRequestError ? error.original : error;
  if (neverConnected(cause)) return notDone(`${method}: cannot connect (${faultName(cause)})`);
  return { kind: 'uncertain', error: `${method}: no answer (${faultName(cause)})` };
}

const errorCode = z.string().regex(/^[a-z0-9_]{1,80}$/);

function classifyCode(method: string, error: WebAPIPlatformError): SlackResult {
  const { data: code } = errorCode.safeParse(error.data.error);
  // A 200 that is not Slack's: it may stand in the place of one that was.
  if (code === undefined) return { kind: 'uncertain', error: `${method}: unreadable answer` };
  // Slack's messages name the block and the rule, not what the block says.
  const details = (error.data.response_metadata?.messages ?? []).slice(0, 3).join(' ').slice(0, 300);
  const text = `${method}: ${code}${details === '' ? '' : ` ${details}`}`;
  // Some calls say it in the body.
  if (code === 'ratelimited' || code === 'rate_limited') return rateLimited(method);
  if (REFUSED_FOR_GOOD.has(code)) return { kind: 'refused', code, error: text };
  if (HALF_DONE.has(code)) return { kind: 'uncertain', error: text };
  return { kind: 'not-done', error: text, retryAfterMs: null, answered: true };
}

const rateLimited = (method: string, seconds?: number): SlackResult => ({
  kind: 'not-done',
  error: `${method}: rate limited`,
  retryAfterMs: rateLimitWaitMs(seconds),
  answered: true,
});

const notDone = (error: string): SlackResult => ({
  kind: 'not-done',
  error,
  retryAfterMs: null,
  answered: false,
});

export function toSendOutcome(result: Exclude<SlackResult, { kind: 'ok' }>): SendOutcome {
  switch (result.kind) {
    case 'not-done':
      return { kind: 'retry', error: result.error, retryAfterMs: result.retryAfterMs };
    case 'refused':
      return { kind: CONTENT_REFUSED.has(result.code) ? 'content-refused' : 'refused', error: result.error };
    case 'uncertain':
      return { kind: 'uncertain', error: result.error };
    default:
      return assertNever(result);
  }
}

/** `chat.update` is idempotent: what is uncertain is done again, and once more when nothing can be under way. */
export function toUpdateOutcome(result: SlackResult): UpdateOutcome {
  switch (result.kind) {
    case 'ok':
      return { kind: 'updated' };
    case 'not-done':
      return { kind: 'retry', error: result.error, retryAfterMs: result.retryAfterMs };
    case 'refused':
      if (GONE.has(result.code)) return { kind: 'gone', error: result.error };
      return { kind: CONTENT_REFUSED.has(result.code) ? 'content-refused' : 'refused', error: result.error };
    case 'uncertain':
      return { kind: 'uncertain', error: result.error };
    default:
      return assertNever(result);
  }
}

const identity = z.object({
  team_id: z.string(),
  enterprise_id: z.string().nullish(),
  response_metadata: z.object({ scopes: z.array(z.string()).optional() }).optional(),
});

/** What an answer to `auth.test` says about the connection. */
export function toHealth(result: SlackResult, team: string): ChannelHealth {
  // Rate limited, or a server without `auth.test`: the connection works, and nothing is known against the token.
  if (result.kind === 'not-done' && result.answered) return { ready: true, detail: result.error };
  if (result.kind !== 'ok') return { ready: false, detail: result.error };
  const { data } = identity.safeParse(result.data);
  // It took the token and says no more: nothing speaks against sending.
  if (data === undefined) return { ready: true, detail: 'signed in; auth.test names no team' };
  if (data.team_id !== team && data.enterprise_id !== team) {
    return { ready: false, detail: `the bot token belongs to ${data.team_id}, not to ${team}` };
  }
  const missing = missingScope(data.response_metadata?.scopes);
  if (missing !== null) return { ready: false, detail: `the bot token lacks the scope ${missing}` };
  return { ready: true, detail: `signed in to ${team}` };
}

/** Slack names a token's scopes in a header; where it does not, they are not checked. */
function missingScope(scopes: readonly string[] | undefined): string | null {
  if (scopes === undefined) return null;
  if (!scopes.includes('chat:write')) return 'chat:write';
  const history = ['channels:history', 'groups:history', 'im:history', 'mpim:history'];
  return history.some((scope) => scopes.includes(scope)) ? null : 'channels:history or groups:history';
}

/** The SDK logs request bodies, which hold the cards, and we say what matters ourselves. */
const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => LogLevel.ERROR,
  setName: () => {},
};
