import type { InboundRequest } from '../../src/channel/channel.ts';
import { equalSecrets } from '../../src/channel/equal-secrets.ts';

export type Verification =
  | { readonly kind: 'verified' }
  /** `reason` is for the log and the counters; it says nothing about the secret. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Says whether whoever sent this knows the secret that was given to `setWebhook` (Bot API, "setWebhook":
 * `X-Telegram-Bot-Api-Secret-Token`). Telegram signs no bytes and no time: the secret and TLS are all the proof.
 */
export function verifyTelegramRequest(input: {
  readonly request: InboundRequest;
  readonly webhookSecret: string;
}): Verification {
  const said = input.request.headers['x-telegram-bot-api-secret-token'];
  if (input.webhookSecret === '') return { kind: 'refused', reason: 'no webhook secret' };
  if (typeof said !== 'string' || said === '') return { kind: 'refused', reason: 'secret token missing' };
  if (!equalSecrets(said, input.webhookSecret))
    return { kind: 'refused', reason: 'secret token does not match' };
  return { kind: 'verified' };
}
