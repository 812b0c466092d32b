import { explanationLines } from '../confirmation/explanation-lines.ts';
import { explanationSchema } from '../http/schemas/explanation-schema.ts';
import type { Locale } from '../locale.ts';
import { callApi, UNREACHABLE } from './call-api.ts';

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
  const { id, locale, json } = options;
  const path = `/v1/confirmations/${encodeURIComponent(id)}/explain`;
  const answer = await callApi(options, { method: 'GET', path });
  if (answer.kind === 'unreachable') {
    console.error(`${UNREACHABLE[locale]} ${answer.message}`);
    return 1;
  }
  const { status, body } = answer;
  if (status !== 200) {
    console.error(`The service answered ${status}${detailOf(body)}`);
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
