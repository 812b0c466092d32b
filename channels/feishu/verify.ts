import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { CALLBACK_TIMESTAMP, isFresh } from '../../src/channel/callback-time.ts';
import type { InboundRequest } from '../../src/channel/channel.ts';
import { equalSecrets } from '../../src/channel/equal-secrets.ts';
import { parseJson } from '../../src/channel/parse-json.ts';
import type { FeishuWayIn } from './config.ts';
import { MAX_CALLBACK_BYTES } from './limits.ts';

export type VerifiedCallback =
  | { readonly kind: 'refused'; readonly reason: string }
  /** The console checks the callback URL; the challenge is echoed and nothing else happens. */
  | { readonly kind: 'challenge'; readonly challenge: string }
  /** Signed, fresh, decrypted and carrying our verification token; its shape is not checked yet. */
  | { readonly kind: 'callback'; readonly payload: unknown };

type Proof = Omit<FeishuWayIn & { readonly mode: 'webhook' }, 'mode'>;

/**
 * Decides whether a callback comes from Feishu, on the raw bytes, with the Encrypt Key's signature
 * (open.feishu.cn, "Callback overview": `hex(sha256(timestamp + nonce + encryptKey + body))`).
 *
 * The scheme has three weak spots, and the strictness here is the answer to each:
 * - No separators, so timestamp and nonce could be split anew under one signature: a timestamp is ten digits.
 * - A keyed prefix instead of an HMAC, so a body can be lengthened without the key: not one byte may follow the JSON.
 * - AES-CBC is malleable: nothing is decrypted before the signature holds. The URL check is the exception, because
 *   the platform does not sign it; it must carry our verification token and has no effect.
 */
export function verifyCallback(input: {
  readonly request: InboundRequest;
  readonly proof: Proof;
  readonly nowMs: number;
}): VerifiedCallback {
  const { request, proof, nowMs } = input;
  if (request.body.length > MAX_CALLBACK_BYTES) return refused('the body is too large');
  const signatures = headerValues(request, 'x-lark-signature');
  if (signatures.length === 0) return verifyUrlCheck(request.body, proof);

  const fault = signatureFault({ request, signatures, encryptKey: proof.encryptKey, nowMs });
  if (fault) return refused(fault);
  const payload = decryptBody(request.body, proof.encryptKey);
  if (payload === undefined) return refused('the signed body is not one encrypted JSON object');
  if (urlCheck.safeParse(payload).success) return verifyUrlCheck(request.body, proof);
  const signed = withHeaderToken.safeParse(payload);
  if (!signed.success || !equalSecrets(signed.data.header.token, proof.verificationToken))
    return refused('the verification token is missing or wrong');
  return { kind: 'callback', payload };
}

/**
 * Whether an event of a long connection may be ours. Who connected under the app's secret gets nobody else's events;
 * the platform does not always send the verification token there, but where it does, it has to be right.
 */
export function carriesForeignToken(payload: unknown, verificationToken: string): boolean {
  const token = perhapsWithHeaderToken.safeParse(payload).data?.header.token ?? '';
  return token !== '' && verificationToken !== '' && !equalSecrets(token, verificationToken);
}

/**
 * Base64 of a 16-byte IV and AES-256-CBC blocks under SHA-256 of the Encrypt Key (open.feishu.cn, "Encrypt Key").
 * Null for anything that is not such a text. Says nothing about who made it.
 */
export function decrypt(encrypted: string, encryptKey: string): Buffer | null {
  const sealed = BASE64.test(encrypted) ? Buffer.from(encrypted, 'base64') : Buffer.alloc(0);
  if (sealed.length < 2 * BLOCK_BYTES || sealed.length % BLOCK_BYTES !== 0) return null;
  const key = createHash('sha256').update(encryptKey).digest();
  const decipher = createDecipheriv('aes-256-cbc', key, sealed.subarray(0, BLOCK_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(BLOCK_BYTES)), decipher.final()]);
  } catch {
    return null;
  }
}

const refused = (reason: string): VerifiedCallback => ({ kind: 'refused', reason });

const urlCheck = z.object({
  type: z.literal('url_verification'),
  challenge: z.string().min(1).max(1024),
  token: z.string(),
});
const withHeaderToken = z.object({ header: z.object({ token: z.string() }) });
const perhapsWithHeaderToken = z.object({ header: z.object({ token: z.string().nullish() }) });
/** Plaintext beside `encrypt` is refused: whoever reads it later must not take it for something verified. */
const encryptedBody = z.strictObject({ encrypt: z.string() });

/** Visible ASCII without the comma, by which HTTP joins repeated headers. */
const NONCE = /^[!-+\--~]{1,128}$/;
/** Lower case only: one signature has one spelling. */
const SIGNATURE = /^[0-9a-f]{64}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const BLOCK_BYTES = 16;

function signatureFault(input: {
  readonly request: InboundRequest;
  readonly signatures: readonly string[];
  readonly encryptKey: string;
  readonly nowMs: number;
}): string | null {
  const timestamp = onlyValue(headerValues(input.request, 'x-lark-request-timestamp'), CALLBACK_TIMESTAMP);
  const nonce = onlyValue(headerValues(input.request, 'x-lark-request-nonce'), NONCE);
  const signature = onlyValue(input.signatures, SIGNATURE);
  if (timestamp === null || nonce === null || signature === null)
    return 'a signature header is missing, doubled or malformed';
  const expected = createHash('sha256')
    .update(timestamp + nonce + input.encryptKey)
    .update(input.request.body)
    .digest();
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) return 'the signature is wrong';
  if (!isFresh(timestamp, input.nowMs)) return 'the timestamp is outside the window';
  return null;
}

function verifyUrlCheck(body: Buffer, proof: Proof): VerifiedCallback {
  const check = urlCheck.safeParse(decryptBody(body, proof.encryptKey));
  if (!check.success) return refused('there is no signature');
  if (!equalSecrets(check.data.token, proof.verificationToken))
    return refused('the URL check carries another verification token');
  return { kind: 'challenge', challenge: check.data.challenge };
}

/** Every value under `name`, however the server hands repeated or differently spelt headers over. */
function headerValues(request: InboundRequest, name: string): readonly string[] {
  return Object.entries(request.headers).flatMap(([key, value]) =>
    key.toLowerCase() === name && value !== undefined ? value : [],
  );
}

const onlyValue = (values: readonly string[], shape: RegExp): string | null => {
  const [value] = values;
  return values.length === 1 && value !== undefined && shape.test(value) ? value : null;
};

/** `undefined` for anything but `{"encrypt": "<ciphertext>"}` holding JSON. */
function decryptBody(body: Buffer, encryptKey: string): unknown {
  const envelope = encryptedBody.safeParse(jsonIn(body));
  const plain = envelope.success ? decrypt(envelope.data.encrypt, encryptKey) : null;
  return plain === null ? undefined : jsonIn(plain);
}

/** `undefined` where the bytes are not well-formed UTF-8 or not exactly one JSON text. */
function jsonIn(bytes: Buffer): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
