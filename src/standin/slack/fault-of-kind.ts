import { type FaultKind, RETRY_AFTER_SECONDS } from '../lined-up-faults.ts';
import type { SlackFault } from './faults.ts';
import { WEB_API_METHODS } from './web-api-methods.ts';

/** The calls that a fault may be lined up for: every method there is. */
export const SLACK_CALLS: readonly string[] = [...Object.keys(WEB_API_METHODS), 'apps.connections.open'];

const FAULTS: Readonly<Record<FaultKind, SlackFault>> = {
  '429': { retryAfterSeconds: RETRY_AFTER_SECONDS },
  '500': '500',
  'no-answer': 'timeout-after-accept',
  'bad-token': 'invalid_auth',
};

/** As Slack lets a call go wrong. */
export const slackFaultOf = (kind: FaultKind): SlackFault => FAULTS[kind];
