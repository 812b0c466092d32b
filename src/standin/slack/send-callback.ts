import { createHmac } from 'node:crypto';

/** The exact bytes and headers of one callback, so that it can be sent again as it was. */
export interface SignedCallback {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface CallbackResult {
  /** Null where no answer came within Slack's 3 seconds, or no connection was made. */
  readonly status: number | null;
  readonly contentType: string;
  readonly body: string;
  readonly elapsedMs: number;
  /** True where Slack would show the person that the app did not respond. */
  readonly shownAsError: boolean;
}

const ANSWER_WITHIN_MS = 3000;

/** Signs as Slack does: HMAC-SHA-256 over `v0:<seconds>:<body>`, in lower-case hex behind `v0=`. */
export function signCallback(input: {
  readonly payload: unknown;
  readonly signingSecret: string;
  readonly nowMs: number;
}): SignedCallback {
  const body = new URLSearchParams({ payload: JSON.stringify(input.payload) }).toString();
  const timestamp = String(Math.floor(input.nowMs / 1000));
  const digest = createHmac('sha256', input.signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
  return {
    body,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${digest}`,
    },
  };
}

/** Posts a callback and gives the app its 3 seconds; Slack does not repeat an interactive callback. */
export async function sendCallback(url: string, callback: SignedCallback): Promise<CallbackResult> {
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: callback.headers,
      body: callback.body,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const body = await response.text();
    const { status } = response;
    const contentType = response.headers.get('content-type') ?? '';
    return { status, contentType, body, elapsedMs: elapsedMs(), shownAsError: status !== 200 };
  } catch {
    return { status: null, contentType: '', body: '', elapsedMs: elapsedMs(), shownAsError: true };
  }
}
