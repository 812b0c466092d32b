import axios, { type AxiosResponse } from 'axios';
import { z } from 'zod';
import type { FeishuSettings } from './config.ts';
import { API_TIMEOUT_MS, MAX_API_ANSWER_BYTES } from './limits.ts';
import { rateLimitReset } from './rate-limit-reset.ts';

/** Where to connect, as the SDK wants to hear it; `error` is for operators and holds no secret. */
export type EndpointAnswer =
  | { readonly kind: 'address'; readonly url: string; readonly clientConfig: ClientConfig }
  /** `retryAfterMs`: how long the platform wants to be left alone; null where it did not say. */
  | { readonly kind: 'refused'; readonly error: string; readonly retryAfterMs: number | null };

/** In seconds, as on the wire. */
interface ClientConfig {
  readonly ReconnectCount: number;
  readonly ReconnectInterval: number;
  readonly ReconnectNonce: number;
  readonly PingInterval: number;
}

/**
 * `POST /callback/ws/endpoint`: a long connection's address, with a ticket that lets anybody in. Never throws. The
 * SDK reads the answer unchecked (no interval is a ping in each turn of the event loop; no `data` a reconnection for
 * ever), so it is asked for here, checked, and handed to the SDK.
 */
export async function askForEndpoint(
  settings: Pick<FeishuSettings, 'domain' | 'appId' | 'appSecret'>,
  signal: AbortSignal,
): Promise<EndpointAnswer> {
  const { domain, appId, appSecret } = settings;
  try {
    const response = await axios.post<unknown>(
      `${domain}/callback/ws/endpoint`,
      { AppID: appId, AppSecret: appSecret },
      {
        headers: { locale: 'zh' },
        timeout: API_TIMEOUT_MS,
        signal,
        proxy: false,
        maxRedirects: 0,
        maxContentLength: MAX_API_ANSWER_BYTES,
        validateStatus: () => true,
      },
    );
    return read(response, domain);
  } catch (error) {
    // The error holds the request, and with it the app's secret.
    const code = axios.isAxiosError(error) ? (error.code ?? 'no code') : 'no answer';
    return refused(`the endpoint for long connections does not answer (${code})`);
  }
}

function read(response: AxiosResponse<unknown>, domain: string): EndpointAnswer {
  const { status } = response;
  const answer = endpointAnswer.safeParse(response.data).data;
  const limited = status === 429 || answer?.code === RATE_LIMITED ? rateLimitReset(response) : null;
  if (answer === undefined) return refused(`the endpoint answered HTTP ${status} without a result`, limited);
  if (answer.code !== 0)
    return refused(`the endpoint answered ${answer.code}: ${printable(answer.msg ?? '')}`, limited);
  const data = address.safeParse(answer.data).data;
  // The ticket must not travel in the clear, unless everything does (a server on loopback).
  if (data === undefined || !(data.URL.startsWith('wss:') || domain.startsWith('http:')))
    return refused('the endpoint answered without an address that can be used');
  return { kind: 'address', url: data.URL, clientConfig: clientConfig.parse(data.ClientConfig ?? {}) };
}

const refused = (error: string, retryAfterMs: number | null = null): EndpointAnswer => ({
  kind: 'refused',
  error,
  retryAfterMs,
});

/** Of the gateway, which may say it with any status. */
const RATE_LIMITED = 99991400;

const endpointAnswer = z.object({ code: z.int(), msg: z.string().nullish(), data: z.unknown().optional() });

/** A dead connection is found after one of these: the platform's two minutes are too long for somebody who waits. */
const LONGEST_PING_INTERVAL_SECONDS = 30;
const seconds = (fallback: number) => z.number().min(0).max(86_400).catch(fallback);

const address = z.object({ URL: z.url({ protocol: /^wss?$/ }), ClientConfig: z.unknown().optional() });
const clientConfig = z.object({
  ReconnectCount: z.number().catch(-1),
  ReconnectInterval: seconds(120),
  ReconnectNonce: seconds(30),
  PingInterval: z
    .number()
    .min(1)
    .catch(LONGEST_PING_INTERVAL_SECONDS)
    .transform((value) => Math.min(value, LONGEST_PING_INTERVAL_SECONDS)),
});

const printable = (text: string): string => text.replace(/[^\P{C} ]/gu, ' ').slice(0, 300);
