import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifySlackRequest } from '../../../channels/slack/verify.ts';
import type { InboundRequest } from '../../../src/channel/channel.ts';

/** Slack, "Verifying requests from Slack": the documented example. */
const EXAMPLE = {
  signingSecret: '8f742231b10e8888abcd99yyyzzz85a5',
  timestamp: '1531420618',
  body:
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V' +
    '&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=' +
    '&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
    '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
} as const;
const SIGNED_AT_MS = Number(EXAMPLE.timestamp) * 1000;

const headersOf = (timestamp: string, signature: string): InboundRequest['headers'] => ({
  'content-type': 'application/x-www-form-urlencoded',
  'x-slack-request-timestamp': timestamp,
  'x-slack-signature': signature,
});

function verify(changes: {
  readonly headers?: InboundRequest['headers'];
  readonly body?: Buffer;
  readonly nowMs?: number;
  readonly signingSecret?: string;
}) {
  return verifySlackRequest({
    request: {
      headers: changes.headers ?? headersOf(EXAMPLE.timestamp, EXAMPLE.signature),
      body: changes.body ?? Buffer.from(EXAMPLE.body),
    },
    signingSecret: changes.signingSecret ?? EXAMPLE.signingSecret,
    nowMs: changes.nowMs ?? SIGNED_AT_MS,
  }).kind;
}

const flipBit = (bytes: Buffer, bit: number): Buffer => {
  const flipped = Buffer.from(bytes);
  flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return flipped;
};

describe('a Slack callback', () => {
  it("is accepted with Slack's documented example", () => {
    expect(verify({})).toBe('verified');
  });

  it.each([
    ['a charset in the content type', 'application/x-www-form-urlencoded; charset=utf-8'],
    ['no content type', undefined],
  ])('is judged by its bytes alone: %s changes nothing', (_what, contentType) => {
    const headers = { ...headersOf(EXAMPLE.timestamp, EXAMPLE.signature), 'content-type': contentType };
    expect(verify({ headers })).toBe('verified');
  });

  it.each([
    ['300 s old', 300_000, 'verified'],
    ['301 s old', 301_000, 'refused'],
    ['300 s ahead', -300_000, 'verified'],
    ['301 s ahead', -301_000, 'refused'],
    ['a year old', 365 * 86_400_000, 'refused'],
  ])('whose timestamp is %s is %s', (_what, offsetMs, expected) => {
    expect(verify({ nowMs: SIGNED_AT_MS + offsetMs })).toBe(expected);
  });

  it('is refused with any single bit of signature, timestamp or body flipped', () => {
    const parts = {
      signature: Buffer.from(EXAMPLE.signature),
      timestamp: Buffer.from(EXAMPLE.timestamp),
      body: Buffer.from(EXAMPLE.body),
    };
    const accepted: string[] = [];
    let forgeries = 0;
    for (const part of ['signature', 'timestamp', 'body'] as const) {
      for (let bit = 0; bit < parts[part].length * 8; bit += 1) {
        const forged = { ...parts, [part]: flipBit(parts[part], bit) };
        const headers = headersOf(forged.timestamp.toString('latin1'), forged.signature.toString('latin1'));
        if (verify({ headers, body: forged.body }) !== 'refused') accepted.push(`${part} bit ${bit}`);
        forgeries += 1;
      }
    }
    expect(accepted).toEqual([]);
    expect(forgeries).toBeGreaterThan(3000);
  });

  it.each([
    ['no signature', { 'x-slack-request-timestamp': EXAMPLE.timestamp }],
    ['no timestamp', { 'x-slack-signature': EXAMPLE.signature }],
    ['an empty signature', headersOf(EXAMPLE.timestamp, '')],
    ['an empty timestamp', headersOf('', EXAMPLE.signature)],
    [
      'a signature that came twice',
      headersOf(EXAMPLE.timestamp, `${EXAMPLE.signature}, ${EXAMPLE.signature}`),
    ],
    [
      'a timestamp that came twice',
      headersOf(`${EXAMPLE.timestamp}, ${EXAMPLE.timestamp}`, EXAMPLE.signature),
    ],
    [
      'a list of signatures',
      {
        ...headersOf(EXAMPLE.timestamp, ''),
        'x-slack-signature': [EXAMPLE.signature],
      },
    ],
    [
      'a list of timestamps',
      {
        ...headersOf('', EXAMPLE.signature),
        'x-slack-request-timestamp': [EXAMPLE.timestamp],
      },
    ],
    ['another version', headersOf(EXAMPLE.timestamp, EXAMPLE.signature.replace('v0', 'v1'))],
    ['a signature in upper case', headersOf(EXAMPLE.timestamp, EXAMPLE.signature.toUpperCase())],
    ['a timestamp with a space', headersOf(` ${EXAMPLE.timestamp}`, EXAMPLE.signature)],
    ['a timestamp with a fraction', headersOf(`${EXAMPLE.timestamp}.0`, EXAMPLE.signature)],
    ['a timestamp of 9 digits', headersOf(EXAMPLE.timestamp.slice(1), EXAMPLE.signature)],
    ['a timestamp in full-width digits', headersOf('１５３１４２０６１８', EXAMPLE.signature)],
  ])('is refused with %s', (_what, headers) => {
    expect(verify({ headers })).toBe('refused');
  });

  it("is refused under another app's secret, and under none", () => {
    expect(verify({ signingSecret: `${EXAMPLE.signingSecret}x` })).toBe('refused');
    const unkeyed = createHmac('sha256', '').update(`v0:${EXAMPLE.timestamp}:${EXAMPLE.body}`).digest('hex');
    const headers = headersOf(EXAMPLE.timestamp, `v0=${unkeyed}`);
    expect(verify({ headers, signingSecret: '' })).toBe('refused');
  });

  it('is refused where the boundary between timestamp and body is moved', () => {
    // `v0:1531420618:…` signed as a whole: neither a shorter timestamp nor a longer one fits the pattern.
    const headers = headersOf(`${EXAMPLE.timestamp}:t`, EXAMPLE.signature);
    expect(verify({ headers, body: Buffer.from(EXAMPLE.body.slice(1)) })).toBe('refused');
  });

  it('is refused, never thrown at, with 2,000 random headers and bodies', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        fc.uint8Array({ maxLength: 200 }),
        (timestamp, signature, body) => {
          expect(verify({ headers: headersOf(timestamp, signature), body: Buffer.from(body) })).toBe(
            'refused',
          );
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is accepted with CJK, emoji, + and %20 exactly as signed, and refused re-encoded', () => {
    const body = Buffer.from('payload=%7B%22t%22%3A%22付款+🚀%20%E5%AE%A1%22%7D');
    const signature = `v0=${createHmac('sha256', EXAMPLE.signingSecret)
      .update(`v0:${EXAMPLE.timestamp}:`)
      .update(body)
      .digest('hex')}`;
    const headers = headersOf(EXAMPLE.timestamp, signature);
    expect(verify({ headers, body })).toBe('verified');
    expect(verify({ headers, body: Buffer.from(body.toString().replace('+', '%20')) })).toBe('refused');
  });
});
