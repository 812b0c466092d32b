import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decrypt, verifyCallback } from '../../../channels/feishu/verify.ts';
import type { InboundRequest } from '../../../src/channel/channel.ts';
import type { JsonObject } from '../../../src/json.ts';
import {
  type SignedCallback,
  signCallback,
  unsignedCallback,
} from '../../../src/standin/feishu/sign-callback.ts';
import { extendSha256 } from './extend-sha256.ts';
import { APP } from './feishu-rig.ts';

const NOW = Date.UTC(2026, 10, 30, 10, 20);
const PAYLOAD: JsonObject = {
  schema: '2.0',
  header: { event_id: 'e1', token: APP.verificationToken, event_type: 'card.action.trigger' },
  event: { action: { value: { action: 'reject' } } },
};

const verify = (request: InboundRequest, nowMs = NOW) => verifyCallback({ request, proof: APP, nowMs });
const signed = (payload: JsonObject = PAYLOAD, encryptKey: string = APP.encryptKey): SignedCallback =>
  signCallback({ payload, encryptKey, nowMs: NOW });

/** Signs any bytes with the real key: what the verifier must refuse for what they are, not for their signature. */
const signBytes = (body: Buffer, timestamp = String(NOW / 1000), nonce = 'n0nce'): InboundRequest => ({
  headers: {
    'x-lark-request-timestamp': timestamp,
    'x-lark-request-nonce': nonce,
    'x-lark-signature': createHash('sha256')
      .update(timestamp + nonce + APP.encryptKey)
      .update(body)
      .digest('hex'),
  },
  body,
});

describe('decryption', () => {
  it('agrees with the documented example (Feishu Open Platform, event encryption)', () => {
    const plain = decrypt('P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=', 'test key');
    expect(plain?.toString()).toBe('hello world');
  });

  it.each(['', 'AAAA', '====', 'P37w+VZImNgPEO1RBhJ6Rg==', 'A'.repeat(44), '你好'])(
    'gives null for %j',
    (text) => {
      expect(decrypt(text, 'test key')).toBeNull();
    },
  );
});

describe('a signed callback', () => {
  it('is accepted with its payload', () => {
    expect(verify(signed())).toEqual({ kind: 'callback', payload: PAYLOAD });
  });

  it('is accepted with white space in the body, which the signature covers', () => {
    const { encrypt } = JSON.parse(signed().body.toString());
    expect(verify(signBytes(Buffer.from(` {\n "encrypt" : "${encrypt}" }\n`))).kind).toBe('callback');
  });

  it('is accepted with header names in any case', () => {
    const { headers, body } = signed();
    const shouted = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(verify({ headers: shouted, body }).kind).toBe('callback');
    expect(verify({ headers: { ...headers, ...shouted }, body }).kind).toBe('refused');
  });

  it.each([
    ['another verification token', { ...PAYLOAD, header: { token: 'another' } }],
    ['no verification token', { ...PAYLOAD, header: {} }],
    ['a token of another type', { ...PAYLOAD, header: { token: [APP.verificationToken] } }],
    ['the token only where version 1 had it', { token: APP.verificationToken, event: {} }],
    ['a URL check with another token', { type: 'url_verification', challenge: 'c', token: 'another' }],
  ])('is refused with %s', (_name, payload) => {
    expect(verify(signed(payload)).kind).toBe('refused');
  });

  it('is refused where plaintext stands beside the ciphertext, even signed', () => {
    const { encrypt } = JSON.parse(signed().body.toString());
    const body = Buffer.from(JSON.stringify({ encrypt, ...PAYLOAD }));
    expect(verify(signBytes(body)).kind).toBe('refused');
  });

  it.each([
    JSON.stringify(PAYLOAD),
    '{"encrypt":"AAAA"}',
    '{"encrypt":{}}',
    '{"__proto__":null}',
    '{"__proto__":{"encrypt":"AAAA"}}',
    '[]',
    '""',
    '',
    '\ufeff{}',
  ])('is refused when its body is %j, even signed', (text) => {
    expect(verify(signBytes(Buffer.from(text))).kind).toBe('refused');
  });

  it.each([
    '1796034000000',
    '01796034000',
    '179603400',
    ' 1796034000',
    '1796034000 ',
    '+179603400',
    '179603400x',
    '1e9',
    '-1',
    '',
  ])('is refused with the timestamp %j, even signed', (timestamp) => {
    expect(verify(signBytes(signed().body, timestamp)).kind).toBe('refused');
  });

  it.each(['', 'two words', 'a,b', 'x'.repeat(129), 'ä', 'a\n'])(
    'is refused with the nonce %j, even signed',
    (nonce) => {
      expect(verify(signBytes(signed().body, undefined, nonce)).kind).toBe('refused');
    },
  );
});

describe('the URL check', () => {
  const check = (token: string) =>
    unsignedCallback({ type: 'url_verification', challenge: 'abc', token }, APP.encryptKey);

  it('is answered without a signature when it carries our verification token', () => {
    expect(verify(check(APP.verificationToken))).toEqual({ kind: 'challenge', challenge: 'abc' });
  });

  it('is answered with a signature too', () => {
    const { body } = check(APP.verificationToken);
    expect(verify(signBytes(body))).toEqual({ kind: 'challenge', challenge: 'abc' });
  });

  it('is refused with another token, another key, in plaintext, or without a challenge', () => {
    const plain = { type: 'url_verification', challenge: 'abc', token: APP.verificationToken };
    const refused: readonly InboundRequest[] = [
      check('another'),
      check(''),
      unsignedCallback(plain, 'another key'),
      unsignedCallback({ ...plain, challenge: '' }, APP.encryptKey),
      { headers: {}, body: Buffer.from(JSON.stringify(plain)) },
    ];
    for (const request of refused) expect(verify(request).kind).toBe('refused');
  });

  it('lets no callback through without its signature', () => {
    expect(verify({ headers: {}, body: signed().body }).kind).toBe('refused');
    expect(verify(unsignedCallback({ ...PAYLOAD, type: 'url_verification' }, APP.encryptKey)).kind).toBe(
      'refused',
    );
  });
});

describe('forgeries', () => {
  it('of the length-extension kind are refused, although their signature is right', () => {
    const { headers, body } = signed();
    const prefix = 10 + String(headers['x-lark-request-nonce']).length + APP.encryptKey.length;
    const suffix = Buffer.from(',"event":{"action":{"value":{"action":"approve"}}}}');
    const { glue, digest } = extendSha256({
      digest: Buffer.from(String(headers['x-lark-signature']), 'hex'),
      hashedBytes: prefix + body.length,
      suffix,
    });
    const forged = Buffer.concat([body, glue, suffix]);
    const timestamp = String(headers['x-lark-request-timestamp']);
    const nonce = String(headers['x-lark-request-nonce']);
    const honest = signBytes(forged, timestamp, nonce);
    expect(honest.headers['x-lark-signature']).toBe(digest.toString('hex'));
    expect(verify(honest)).toEqual({
      kind: 'refused',
      reason: 'the signed body is not one encrypted JSON object',
    });
  });

  it('that split timestamp and nonce anew under one signature are refused', () => {
    const { headers, body } = signed();
    const joined = `${headers['x-lark-request-timestamp']}${headers['x-lark-request-nonce']}`;
    for (let at = 0; at <= 20; at += 1) {
      const bent = {
        ...headers,
        'x-lark-request-timestamp': joined.slice(0, at),
        'x-lark-request-nonce': joined.slice(at),
      };
      expect(verify({ headers: bent, body }).kind).toBe(at === 10 ? 'callback' : 'refused');
    }
  });

  it('by editing the IV, which turns reject into something else, are refused', () => {
    const { headers, body } = signed({ action: 'reject', ...PAYLOAD });
    const sealed = Buffer.from(JSON.parse(body.toString()).encrypt, 'base64');
    for (let at = 0; at < 16; at += 1) {
      const edited = Buffer.from(sealed);
      edited[at] = (edited[at] ?? 0) ^ 0x1f;
      const bent = Buffer.from(JSON.stringify({ encrypt: edited.toString('base64') }));
      expect(verify({ headers, body: bent }).kind).toBe('refused');
      expect(verify({ headers: {}, body: bent }).kind).toBe('refused');
    }
  });

  it('by any single bit of signature, timestamp, nonce or body are refused, all within seconds', () => {
    const { headers, body } = signed();
    const started = performance.now();
    let tried = 0;
    const accepted: string[] = [];
    const attempt = (what: string, request: InboundRequest) => {
      tried += 1;
      if (verify(request).kind !== 'refused') accepted.push(what);
    };
    for (const name of ['x-lark-signature', 'x-lark-request-timestamp', 'x-lark-request-nonce'])
      for (const bent of bitFlips(Buffer.from(String(headers[name]))))
        attempt(name, { headers: { ...headers, [name]: bent.toString('latin1') }, body });
    for (const bent of bitFlips(body)) attempt('body', { headers, body: bent });
    for (const name of Object.keys(headers).filter((header) => header.startsWith('x-lark')))
      for (let cut = 0; cut < String(headers[name]).length; cut += 1)
        attempt(name, { headers: { ...headers, [name]: String(headers[name]).slice(0, cut) }, body });
    expect(accepted).toEqual([]);
    expect(tried).toBeGreaterThan(2_000);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('of another app, with its own key and token, are refused', () => {
    expect(verify(signed(PAYLOAD, 'another key')).kind).toBe('refused');
  });

  it('of a megabyte or of endless nesting are refused at once', () => {
    const started = performance.now();
    expect(verify(signBytes(Buffer.alloc(1024 * 1024, '['))).kind).toBe('refused');
    expect(verify(signBytes(Buffer.alloc(200_000, '['))).kind).toBe('refused');
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

function* bitFlips(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1)
    for (let bit = 0; bit < 8; bit += 1) {
      const bent = Buffer.from(bytes);
      bent[at] = (bent[at] ?? 0) ^ (1 << bit);
      yield bent;
    }
}
