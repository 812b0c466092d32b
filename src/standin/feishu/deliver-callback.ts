import { request } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { EventAnswer } from './long-connections.ts';
import type { SignedCallback } from './sign-callback.ts';
import type { StandinUser } from './standin-options.ts';

/** What the person sees after a tap: a toast, nothing, or the client's own error with its code. */
export type TapResult =
  | { readonly kind: 'toast'; readonly type: string; readonly text: string; readonly status: number }
  | { readonly kind: 'nothing'; readonly status: number }
  | { readonly kind: 'client-error'; readonly code: number; readonly status: number | null }
  /** The client itself answered: a page was opened, or a required field was left empty. */
  | { readonly kind: 'opened'; readonly url: string }
  | { readonly kind: 'required-missing'; readonly input: string };

/** Callbacks must be answered within three seconds (open.feishu.cn, "Card callback communication"). */
const ANSWER_WITHIN_MS = 3_000;

/** Codes that the client shows (same source). */
const CLIENT_ERROR = {
  noUrl: 200340,
  late: 200341,
  unreachable: 200342,
  unknownHost: 200343,
  notOk: 200671,
  badBody: 200672,
} as const;

/** Posts a callback and interprets the answer as the person's client would. */
export async function deliverCallback(input: {
  readonly url: string | null;
  readonly callback: SignedCallback;
  readonly language: StandinUser['language'];
  readonly clock: Clock;
}): Promise<TapResult> {
  const { url, callback, clock } = input;
  if (url === null) return { kind: 'client-error', code: CLIENT_ERROR.noUrl, status: null };
  const outcome = await post(url, callback, clock);
  if (typeof outcome === 'number') return { kind: 'client-error', code: outcome, status: null };
  const { status, body } = outcome;
  if (status !== 200) return { kind: 'client-error', code: CLIENT_ERROR.notOk, status };
  return interpret(body, input.language ?? 'zh_cn');
}

/** Reads the answer to an event of a long connection as the person's client would. */
export function interpretEventAnswer(answer: EventAnswer, language: StandinUser['language']): TapResult {
  switch (answer.kind) {
    case 'late':
      return { kind: 'client-error', code: CLIENT_ERROR.late, status: null };
    case 'gone':
      return { kind: 'client-error', code: CLIENT_ERROR.unreachable, status: null };
    case 'answered':
      if (answer.code !== 200) return { kind: 'client-error', code: CLIENT_ERROR.notOk, status: answer.code };
      return interpret(answer.body ?? '', language ?? 'zh_cn');
  }
}

/** Posts without interpreting: for the URL check and for replayed bytes. */
export async function postCallback(
  url: string,
  callback: SignedCallback,
  clock: Clock,
): Promise<{ readonly status: number; readonly body: string } | { readonly code: number }> {
  const outcome = await post(url, callback, clock);
  return typeof outcome === 'number' ? { code: outcome } : outcome;
}

function interpret(body: string, language: string): TapResult {
  const bad: TapResult = { kind: 'client-error', code: CLIENT_ERROR.badBody, status: 200 };
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    return bad;
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return bad;
  if (!('toast' in answer)) return { kind: 'nothing', status: 200 };
  const { toast } = answer;
  if (typeof toast !== 'object' || toast === null || !('type' in toast) || !('content' in toast)) return bad;
  const { type, content } = toast;
  if (typeof type !== 'string' || !TOAST_TYPES.has(type) || typeof content !== 'string') return bad;
  const translated: unknown =
    'i18n' in toast && typeof toast.i18n === 'object' && toast.i18n !== null
      ? Object.entries(toast.i18n).find(([key]) => key === language)?.[1]
      : undefined;
  return {
    kind: 'toast',
    type,
    text: typeof translated === 'string' ? translated : content,
    status: 200,
  };
}

const TOAST_TYPES = new Set(['info', 'success', 'error', 'warning']);

/** The answer, or the code the client would show. */
function post(
  url: string,
  callback: SignedCallback,
  clock: Clock,
): Promise<{ status: number; body: string } | number> {
  return new Promise((resolve) => {
    const call = request(url, {
      method: 'POST',
      agent: false,
      headers: { ...callback.headers, 'content-length': callback.body.length },
    });
    const cancel = clock.setTimer(ANSWER_WITHIN_MS, () => finish(CLIENT_ERROR.late));
    const finish = (outcome: { status: number; body: string } | number) => {
      cancel();
      resolve(outcome);
      call.destroy();
    };
    call.on('error', (error: NodeJS.ErrnoException) =>
      finish(error.code === 'ENOTFOUND' ? CLIENT_ERROR.unknownHost : CLIENT_ERROR.unreachable),
    );
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        finish({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      );
      response.on('error', () => finish(CLIENT_ERROR.unreachable));
    });
    call.end(callback.body);
  });
}
