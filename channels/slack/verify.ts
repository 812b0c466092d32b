import { createHmac, timingSafeEqual } from 'node:crypto';
import { CALLBACK_TIMESTAMP, isFresh } from '../../src/channel/callback-time.ts';
import type { InboundRequest } from '../../src/channel/channel.ts';

export type Verification =
  | { readonly kind: 'verified' }
  /** `reason` is for the log and the counters; it says nothing about the secret. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Lower case only: a signature with one letter's case flipped is another signature. */
const SIGNATURE = /^v0=([0-9a-f]{64})$/;

/**
 * Says whether Slack sent these bytes: HMAC-SHA-256 over `v0:<timestamp>:<raw body>` under the signing secret,
 * compared in constant time, with a fresh timestamp. Needs no other header; never throws on what a caller sends.
 */
export function verifySlackRequest(input: {
  readonly request: InboundRequest;
  readonly signingSecret: string;
  readonly nowMs: number;
}): Verification {
  const { headers, body } = input.request;
  if (input.signingSecret === '') return refused('no signing secret');
  const timestamp = only(headers['x-slack-request-timestamp']);
  if (timestamp === null || !CALLBACK_TIMESTAMP.test(timestamp))
    return refused('timestamp missing or malformed');
  const signature = SIGNATURE.exec(only(headers['x-slack-signature']) ?? '')?.[1];
  if (signature === undefined) return refused('signature missing or malformed');
  if (!isFresh(timestamp, input.nowMs)) return refused('timestamp not fresh');
  const expected = createHmac('sha256', input.signingSecret).update(`v0:${timestamp}:`).update(body).digest();
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) return refused('signature does not match');
  return { kind: 'verified' };
}

const refused = (reason: string): Verification => ({ kind: 'refused', reason });

/** A header that came exactly once. Node joins repeated ones with a comma, which the patterns above refuse. */
const only = (value: string | string[] | undefined): string | null =>
  typeof value === 'string' ? value : null;
