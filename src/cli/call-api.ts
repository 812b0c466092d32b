import { z } from 'zod';
import type { Locale, LocalizedText } from '../locale.ts';
import { faultMessage } from './fault-message.ts';

/** A running service, and the key of the person who asks it. */
export interface ServiceAddress {
  /** `http://host:port`, with or without a path before `/v1`. */
  readonly url: string;
  readonly key: string;
}

export type ApiAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly body: unknown;
      /** What the service says is wrong, as code and sentence; null where it says nothing of the kind. */
      readonly problem: string | null;
    }
  | { readonly kind: 'unreachable'; readonly message: string };

/** What stands before the message of an answer that never came. */
export const UNREACHABLE: LocalizedText = {
  'zh-CN': '无法连接服务：',
  'en-US': 'The service cannot be reached:',
};

const TIMEOUT_MS = 15_000;
const problem = z.object({ code: z.string(), detail: z.string() });

/** One call of a running service's API. Redirects are not followed: the key goes to the address given, nowhere else. */
export async function callApi(
  { url, key, locale }: ServiceAddress & { readonly locale: Locale },
  call: { readonly method: string; readonly path: string; readonly body?: unknown },
): Promise<ApiAnswer> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}${call.path}`, {
      method: call.method,
      headers: {
        authorization: `Bearer ${key}`,
        'accept-language': locale,
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = parsed(await response.text());
    const said = problem.safeParse(body).data;
    return {
      kind: 'answered',
      status: response.status,
      body,
      problem: said === undefined ? null : `${said.code}: ${said.detail}`,
    };
  } catch (error) {
    return { kind: 'unreachable', message: `${url}: ${faultMessage(error)}` };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
