import { createHash, createHmac } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import type { ConfirmationId } from '../ids.ts';
import type { JsonObject } from '../json.ts';

export interface DigestedCall {
  readonly organization: string;
  readonly tool: string;
  /** Null for an outside tool; for a connector's tool a digest of its definition. */
  readonly toolVersion: string | null;
  readonly args: JsonObject;
}

/**
 * The one digest of a call: `sha256:` + hex of SHA-256 over its RFC 8785 form. The same in row, card, audit, claim and
 * execution check. Key order does not matter; every value does.
 */
export function digestOf(call: DigestedCall): string {
  const { args, organization, tool, toolVersion } = call;
  return `sha256:${sha256Hex(canonicalize({ args, organization, tool, toolVersion }))}`;
}

export const sha256Hex = (text: string | Uint8Array): string =>
  createHash('sha256').update(text).digest('hex');

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * The first 40 bits of HMAC-SHA-256 over request id and digest, as 8 characters of Crockford base32: equal on every
 * card of one request, so that two people see that they look at the same payment. No check relies on it.
 */
export function verificationCodeOf(input: {
  readonly id: ConfirmationId;
  readonly argsDigest: string;
  readonly key: string;
}): string {
  const mac = createHmac('sha256', input.key).update(`${input.id}\n${input.argsDigest}`).digest();
  let code = '';
  for (let index = 0; index < 8; index += 1) {
    let value = 0;
    for (let bit = index * 5; bit < index * 5 + 5; bit += 1) {
      value = (value << 1) | (((mac[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1);
    }
    code += CROCKFORD[value];
  }
  return code;
}
