import { type FaultKind, RETRY_AFTER_SECONDS } from '../lined-up-faults.ts';
import type { StandinFault, StandinOperation } from './fault-queue.ts';

/** The calls that a fault may be lined up for. */
export const FEISHU_CALLS: readonly StandinOperation[] = [
  ...(['token', 'create', 'patch', 'reply', 'member', 'endpoint'] as const),
];

/** As the open platform lets a call go wrong (open.feishu.cn, "Server error codes" and "Rate limits"). */
export function feishuFaultOf(kind: FaultKind, operation: StandinOperation): StandinFault {
  switch (kind) {
    case '429':
      return {
        ...answer(429, { code: 99991400, msg: 'request trigger frequency limit' }),
        headers: { 'x-ogw-ratelimit-reset': String(RETRY_AFTER_SECONDS) },
      };
    case '500':
      return answer(500, { code: 2200, msg: 'internal error' });
    case 'no-answer':
      return { kind: 'silence', carriedOut: true };
    case 'bad-token':
      return CREDENTIALS_REFUSED[operation] ?? answer(400, { code: 99991663, msg: 'Invalid access token' });
  }
}

const answer = (status: number, body: { readonly code: number; readonly msg: string }) =>
  ({ kind: 'answer', status, body }) as const;

/** These calls carry the app's secret in the place of a token. */
const CREDENTIALS_REFUSED: Readonly<Partial<Record<StandinOperation, StandinFault>>> = {
  token: answer(200, { code: 10014, msg: 'app secret invalid' }),
  endpoint: answer(200, { code: 514, msg: 'auth failed' }),
};
