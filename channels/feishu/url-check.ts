import { createCipheriv, createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../../src/clock.ts';

/** A URL check encrypted as the platform does it, and signed as its callbacks are, so that both keys are tried. */
export function urlCheck(
  { encryptKey, verificationToken }: { readonly encryptKey: string; readonly verificationToken: string },
  clock: Clock,
) {
  const challenge = randomUUID();
  const plain = JSON.stringify({ type: 'url_verification', challenge, token: verificationToken });
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(encryptKey).digest(), iv);
  const sealed = Buffer.concat([iv, cipher.update(plain, 'utf8'), cipher.final()]);
  const body = JSON.stringify({ encrypt: sealed.toString('base64') });
  const timestamp = String(Math.floor(clock.now() / 1000));
  const nonce = randomBytes(16).toString('hex');
  const signature = createHash('sha256')
    .update(timestamp + nonce + encryptKey + body)
    .digest('hex');
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'x-lark-request-timestamp': timestamp,
    'x-lark-request-nonce': nonce,
    'x-lark-signature': signature,
  };
  return { body, challenge, headers };
}
