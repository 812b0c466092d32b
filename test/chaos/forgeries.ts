import { createHash, createHmac } from 'node:crypto';
import { FEISHU_KEY, SLACK_SECRET } from './callbacks.ts';
import type { ChatId } from './gate.ts';
import type { WireRequest } from './post.ts';

export interface Forgery {
  readonly what: string;
  readonly chat: ChatId;
  readonly request: WireRequest;
}

type Genuine = { readonly chat: ChatId; readonly request: WireRequest };

/** Everything that is done to a genuine callback to make a forged one; endless where it counts bits. */
export function* forgeriesOf(slack: WireRequest, feishu: WireRequest): Generator<Forgery> {
  const both: readonly Genuine[] = [
    { chat: 'pay-slack', request: slack },
    { chat: 'pay-feishu', request: feishu },
  ];
  for (const genuine of both) {
    yield* onHeaders(genuine);
    yield { what: 'the bytes of the other platform', chat: other(genuine.chat), request: genuine.request };
    yield* onBody(genuine);
  }
  yield* ofSlack(slack);
  yield* ofFeishu(feishu);
  // Round and round over every bit of headers and bodies, both platforms in turn.
  const flips = both.map(bitFlips);
  for (;;) for (const flip of flips) yield flip.next().value as Forgery;
}

const PROOF: Readonly<Record<ChatId, readonly string[]>> = {
  'pay-slack': ['x-slack-signature', 'x-slack-request-timestamp'],
  'pay-feishu': ['x-lark-signature', 'x-lark-request-timestamp', 'x-lark-request-nonce'],
};

const other = (chat: ChatId): ChatId => (chat === 'pay-slack' ? 'pay-feishu' : 'pay-slack');

const withHeaders = (request: WireRequest, headers: WireRequest['headers']): WireRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
});

function* onHeaders({ chat, request }: Genuine): Generator<Forgery> {
  for (const name of PROOF[chat]) {
    const value = String(request.headers[name]);
    const { [name]: _left, ...rest } = request.headers;
    const forged = (what: string, headers: WireRequest['headers']): Forgery => ({
      what: `${name} ${what}`,
      chat,
      request: { ...request, headers },
    });
    yield forged('missing', rest);
    yield forged('empty', { ...rest, [name]: '' });
    yield forged('doubled', { ...rest, [name]: [value, value] });
    yield forged('doubled, first wrong', { ...rest, [name]: ['0', value] });
    yield forged('doubled, last wrong', { ...rest, [name]: [value, '0'] });
    yield forged('with a comma', { ...rest, [name]: `${value}, ${value}` });
    yield forged('cut', { ...rest, [name]: value.slice(0, -1) });
    yield forged('longer', { ...rest, [name]: `${value}0` });
    yield forged('with a sign', { ...rest, [name]: `+${value}` });
    if (/[a-f]/.test(value)) yield forged('in capitals', { ...rest, [name]: value.toUpperCase() });
    yield forged('under another name', { ...rest, [name.replaceAll('-', '_')]: value });
  }
}

function* onBody({ chat, request }: Genuine): Generator<Forgery> {
  const body = Buffer.from(request.body);
  for (const [what, forged] of [
    ['empty', Buffer.alloc(0)],
    ['cut', body.subarray(0, -1)],
    ['followed by a blank', Buffer.concat([body, Buffer.from(' ')])],
    ['followed by a line end', Buffer.concat([body, Buffer.from('\n')])],
    ['followed by a NUL', Buffer.concat([body, Buffer.from([0])])],
    ['after a BOM', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body])],
    ['twice', Buffer.concat([body, body])],
  ] as const)
    yield { what: `body ${what}`, chat, request: { ...request, body: forged } };
}

function* ofSlack(genuine: WireRequest): Generator<Forgery> {
  const timestamp = String(genuine.headers['x-slack-request-timestamp']);
  const sign = (base: string, secret = SLACK_SECRET) =>
    `v0=${createHmac('sha256', secret).update(base).digest('hex')}`;
  const forged = (what: string, signature: string, changes: Partial<WireRequest> = {}): Forgery => ({
    what,
    chat: 'pay-slack',
    request: { ...withHeaders(genuine, { 'x-slack-signature': signature }), ...changes },
  });
  const right = String(genuine.headers['x-slack-signature']);
  yield forged("another app's secret", sign(`v0:${timestamp}:${genuine.body}`, 'another-secret'));
  yield forged("Feishu's key", sign(`v0:${timestamp}:${genuine.body}`, FEISHU_KEY));
  yield forged('an empty secret', sign(`v0:${timestamp}:${genuine.body}`, ''));
  yield forged('version 1', right.replace('v0', 'v1'));
  yield forged('no version', right.slice(3));
  yield forged('signed without the version', sign(`${timestamp}:${genuine.body}`));
  yield forged('signed without the time', sign(`v0::${genuine.body}`));
  yield forged('in base64', `v0=${Buffer.from(right.slice(3), 'hex').toString('base64')}`);
  yield forged('an ssl check that is not signed', '', { body: 'ssl_check=1', headers: {} });
  yield forged('a URL check that is not signed', '', {
    body: '{"type":"url_verification","challenge":"x","token":"y"}',
    headers: { 'content-type': 'application/json' },
  });
  // Under the signature the boundary between time and body is moved.
  yield {
    what: 'time and body split anew',
    chat: 'pay-slack',
    request: withHeaders(
      { ...genuine, body: `${timestamp.slice(9)}:${genuine.body}` },
      { 'x-slack-request-timestamp': timestamp.slice(0, 9) },
    ),
  };
}

function* ofFeishu(genuine: WireRequest): Generator<Forgery> {
  const timestamp = String(genuine.headers['x-lark-request-timestamp']);
  const nonce = String(genuine.headers['x-lark-request-nonce']);
  const { encrypt } = JSON.parse(String(genuine.body)) as { encrypt: string };
  const sign = (body: string, key = FEISHU_KEY) =>
    createHash('sha256').update(`${timestamp}${nonce}${key}${body}`).digest('hex');
  const signed = (what: string, body: string, key?: string): Forgery => ({
    what,
    chat: 'pay-feishu',
    request: withHeaders({ ...genuine, body }, { 'x-lark-signature': sign(body, key) }),
  });
  const unsigned = (what: string, body: string): Forgery => ({
    what,
    chat: 'pay-feishu',
    request: { body, headers: { 'content-type': 'application/json' } },
  });
  const split = (what: string, newTimestamp: string, newNonce: string): Forgery => ({
    what,
    chat: 'pay-feishu',
    request: withHeaders(genuine, {
      'x-lark-request-timestamp': newTimestamp,
      'x-lark-request-nonce': newNonce,
    }),
  });
  yield split('split anew: 9 digits', timestamp.slice(0, 9), timestamp.slice(9) + nonce);
  yield split('split anew: 11 characters', timestamp + nonce.slice(0, 1), nonce.slice(1));
  yield split('split anew: no nonce', timestamp + nonce, '');
  yield split('split anew: no time', '', timestamp + nonce);
  yield split('nonce with the key in it', timestamp, nonce + FEISHU_KEY.slice(0, 1));
  yield signed("another app's key", String(genuine.body), 'another-key');
  yield signed("Slack's secret as key", String(genuine.body), SLACK_SECRET);
  yield signed('no key', String(genuine.body), '');
  // Right signatures, as one who had found the key's digest out could lengthen them: what is signed is still not one encrypted object.
  const plain = '{"schema":"2.0","header":{"event_type":"card.action.trigger"},"event":{}}';
  yield signed('plaintext beside encrypt', JSON.stringify({ encrypt, event: { action: 'approve' } }));
  yield signed('plaintext alone', plain);
  yield signed('encrypt twice', `{"encrypt":"AAAA","encrypt":"${encrypt}","x":1}`);
  yield signed('bytes after the object', `${genuine.body}{}`);
  yield signed('padding after the object', `${genuine.body}\u0080\u0000\u0000`);
  yield signed('encrypt as a list', JSON.stringify({ encrypt: [encrypt] }));
  yield signed('encrypt with blanks', JSON.stringify({ encrypt: ` ${encrypt}` }));
  yield signed(
    'encrypt in base64url',
    JSON.stringify({ encrypt: encrypt.replaceAll('+', '-').replaceAll('/', '_').replace(/=*$/, '') }),
  );
  yield signed('a polluted prototype', `{"__proto__":{"encrypt":"${encrypt}"}}`);
  yield unsigned('no signature at all', String(genuine.body));
  yield unsigned(
    'a plain URL check',
    '{"type":"url_verification","challenge":"x","token":"feishu-verification-token"}',
  );
  yield unsigned('plaintext of an event', plain);
  yield unsigned('not encrypted at all', '{"encrypt":"AAAA"}');
  yield unsigned('nothing', '{}');
  yield unsigned('null', 'null');
  // AES-CBC: an edit of the IV edits the first block. Without a signature, and under the old one.
  const sealed = Buffer.from(encrypt, 'base64');
  for (let at = 0; at < 16; at += 1) {
    for (const mask of [0x01, 0x20, 0xff]) {
      const edited = Buffer.from(sealed);
      edited[at] = (edited[at] ?? 0) ^ mask;
      const body = JSON.stringify({ encrypt: edited.toString('base64') });
      yield unsigned(`IV edited at ${at}, no signature`, body);
      yield { what: `IV edited at ${at}, old signature`, chat: 'pay-feishu', request: { ...genuine, body } };
    }
  }
}

/** Each single bit of each proof header and of the body, one after the other, for ever. */
function* bitFlips({ chat, request }: Genuine): Generator<Forgery> {
  const body = Buffer.from(request.body);
  for (let bit = 0; ; bit += 1) {
    for (const name of PROOF[chat]) {
      const bytes = Buffer.from(String(request.headers[name]), 'latin1');
      const at = bit % (bytes.length * 8);
      const flipped = flip(bytes, at);
      // A client cannot send every byte in a header, and blanks at its ends do not belong to it.
      if (!/^[!-~]+$/.test(flipped.toString('latin1'))) continue;
      yield {
        what: `${name} bit ${at}`,
        chat,
        request: withHeaders(request, { [name]: flipped.toString('latin1') }),
      };
    }
    const at = (bit * 61) % (body.length * 8);
    yield { what: `body bit ${at}`, chat, request: { ...request, body: flip(body, at) } };
  }
}

function flip(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}
