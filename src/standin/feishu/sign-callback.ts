import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import type { JsonObject } from '../../json.ts';

/** A callback as it goes over the wire. */
export interface SignedCallback {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Encrypts and signs as the platform does with an Encrypt Key (open.feishu.cn, "Encrypt Key"): the body is
 * `{"encrypt": base64(IV + AES-256-CBC(payload))}`, the signature SHA-256 over timestamp, nonce, key and body.
 */
export function signCallback(input: {
  readonly payload: JsonObject;
  readonly encryptKey: string;
  readonly nowMs: number;
}): SignedCallback {
  const body = encryptBody(input.payload, input.encryptKey);
  const timestamp = Math.floor(input.nowMs / 1000).toString();
  const nonce = randomBytes(16).toString('hex');
  const signature = createHash('sha256')
    .update(timestamp + nonce + input.encryptKey)
    .update(body)
    .digest('hex');
  return {
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-lark-request-timestamp': timestamp,
      'x-lark-request-nonce': nonce,
      'x-lark-signature': signature,
    },
    body,
  };
}

/** The URL check is encrypted but not signed. */
export function unsignedCallback(payload: JsonObject, encryptKey: string): SignedCallback {
  return {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: encryptBody(payload, encryptKey),
  };
}

function encryptBody(payload: JsonObject, encryptKey: string): Buffer {
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(encryptKey).digest(), iv);
  const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(payload), 'utf8'), cipher.final()]);
  return Buffer.from(JSON.stringify({ encrypt: sealed.toString('base64') }));
}
