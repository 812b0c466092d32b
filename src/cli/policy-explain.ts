import { explanationLines } from '../confirmation/explanation-lines.ts';
import { explanationSchema } from '../http/schemas/explanation-schema.ts';
import type { Locale } from '../locale.ts';

const ANSWER_WITHIN_MS = 30_000;

/**
 * `countersign policy explain <id>`: asks a running service why a request was made and who could approve it. 0 with the
 * explanation, 1 where the service says no or does not answer.
 */
export async function policyExplain(options: {
  readonly id: string;
  /** Where the service listens. */
  readonly url: string;
  readonly key: string;
  readonly locale: Locale;
  /** The answer as it came. */
  readonly json: boolean;
}): Promise<number> {
  const { id, key, locale, json } = options;
  const address = `${options.url.replace(/\/+$/, '')}/v1/confirmations/${encodeURIComponent(id)}/explain`;
  const response = await fetch(address, {
    headers: { authorization: `Bearer ${key}`, 'accept-language': locale },
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    console.error(`The service answered ${response.status}${detailOf(body)}`);
    return 1;
  }
  if (json) console.log(JSON.stringify(body, null, 2));
  else for (const line of explanationLines(explanationSchema.parse(body), locale)) console.log(line);
  return 0;
}

const detailOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'detail' in body && typeof body.detail === 'string'
    ? `: ${body.detail}`
    : '.';
