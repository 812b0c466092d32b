import { describe, expect, it } from 'vitest';
import { createArgumentMask, maskArguments } from '../../src/confirmation/argument-mask.ts';
import { cardOf } from '../../src/confirmation/card-of.ts';
import type { DecisiveField } from '../../src/confirmation/confirmation-request.ts';
import { MASK, maskCardNumbers, maskSecrets, namesSecret } from '../../src/confirmation/secret-shapes.ts';
import type { JsonObject } from '../../src/json.ts';
import { LOCALES } from '../../src/locale.ts';
import { closedRequest, LI_WEI, pendingRequest } from './sample-request.ts';

const PAYMENT: readonly DecisiveField[] = [
  { role: 'amount', pointer: '/amount' },
  { role: 'currency', pointer: '/currency' },
  { role: 'payee', pointer: '/payee' },
];
const SECRET = 'q7Zr-44-xyz-secret';
const PRIVATE_KEY = '-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----';

describe('what is never shown', () => {
  it.each([
    ...[
      'apiKey',
      'api_key',
      'X-API-Key',
      'password',
      'userPassword',
      'db.passwd',
      'pwd',
      'clientSecret',
      'token',
    ],
    ...[
      'access_token',
      'Authorization',
      'proxy-authorization',
      'cookie',
      'privateKey',
      'cardNumber',
      'cvv',
      '密码',
    ],
    ...['aws_secret_access_key', 'credentials', 'passphrase', 'PIN', 'ｐａｓｓｗｏｒｄ'],
  ])('is a value under the name %s', (name) => expect(namesSecret(name)).toBe(true));

  it.each([
    'amount',
    'payee',
    'currency',
    'memo',
    'secretary',
    'max_tokens',
    'tokens',
    'pinned',
    'company',
    'keyboard',
  ])('is none under the name %s', (name) => expect(namesSecret(name)).toBe(false));

  it.each([
    ['Authorization: Bearer abcdef0123456789', `Authorization: Bearer ${MASK}`],
    ['use Basic dXNlcjpwYXNz= now', `use Basic ${MASK} now`],
    [`key ${PRIVATE_KEY} end`, `key ${MASK} end`],
    ['-----BEGIN PRIVATE KEY-----\nMIIEvQ', MASK],
    ['postgres://app:hunter22@db/pay', `postgres://app:${MASK}@db/pay`],
    ['password=hunter22&x=1', `password=${MASK}&x=1`],
    ['DB_PASSWORD=hunter22', `DB_PASSWORD=${MASK}`],
    ['{\\"password\\":\\"hunter22\\"}', `{\\"password\\":\\"${MASK}\\"}`],
    ['login --password hunter22 --token "abcdef" -v', `login --password ${MASK} --token "${MASK}" -v`],
    ['https://x.example/?token=abcdef123456&a=b', `https://x.example/?token=${MASK}&a=b`],
    ['密码：hunter22，请登录', `密码：${MASK}，请登录`],
    ['ghp_0123456789abcdefghij', MASK],
    ['xoxb-1234567890-abcdef', MASK],
    ['sk-proj-abcdefghijklmnop', MASK],
    ['AKIAIOSFODNN7EXAMPLE', MASK],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', MASK],
  ])('is a part of %j', (text, shown) => expect(maskSecrets(text)).toBe(shown));

  it.each([
    'a basic understanding of the matter',
    'bearer of this letter',
    'https://gate.acme.example/a:b',
    'token',
    'max_tokens: 4096, token: yes',
    '密码：请联系管理员',
    '付款给上海供应商，合同号 2026-11-30',
  ])('is nothing of %j', (text) => expect(maskSecrets(text)).toBe(text));

  it.each([
    ['card 4111 1111 1111 1111, thanks', `card ${MASK}, thanks`],
    ['5555-5555-5555-4444', MASK],
    ['378282246310005', MASK],
    ['6222021234567890127 or 4111111111111112', '6222021234567890127 or 4111111111111112'],
    ['order 20261130102000123', 'order 20261130102000123'],
    ['68000.00', '68000.00'],
    ['1.4111111111111111', '1.4111111111111111'],
  ])('is a payment card in %j, and no other number', (text, shown) =>
    expect(maskCardNumbers(text)).toBe(shown),
  );

  it('is found in linear time, whatever the text', () => {
    const from = performance.now();
    for (const unit of ['eyJ', '-----BEGIN ', '1 ', '//a:', 'Bearer ', 'password=', 'sk-', '4-'])
      maskCardNumbers(maskSecrets(unit.repeat(60_000)));
    expect(performance.now() - from).toBeLessThan(20_000);
  });
});

describe('arguments as they may be shown', () => {
  const masked = (args: JsonObject, listed: readonly string[] = [], fields = PAYMENT) =>
    maskArguments(args, fields, createArgumentMask(listed));

  it('keep their shape, and lose what is secret by name, by list or by shape', () => {
    const args = {
      amount: '68000.00',
      payee: 'Acme',
      apiKey: SECRET,
      headers: { Authorization: 'Bearer abcdef0123456789', Accept: '*/*' },
      recovery: { codes: ['one', 'two'], on: true },
      customer: { iban: 'DE89370400440532013000' },
      card: 4111111111111111,
      memo: `with ${SECRET}`,
    };
    const before = structuredClone(args);
    const { args: shown, masked: pointers } = masked(args, ['/recovery', 'IBAN']);
    expect(shown).toEqual({
      amount: '68000.00',
      payee: 'Acme',
      apiKey: MASK,
      headers: { Authorization: MASK, Accept: '*/*' },
      recovery: { codes: [MASK, MASK], on: true },
      customer: { iban: MASK },
      card: MASK,
      memo: `with ${MASK}`,
    });
    expect(pointers).toEqual([
      ...['/apiKey', '/headers/Authorization', '/recovery/codes/0', '/recovery/codes/1', '/customer/iban'],
      ...['/card', '/memo'],
    ]);
    expect(args).toEqual(before);
  });

  it('lose what stands beside the name of a secret, as headers and variables are passed', () => {
    const args = {
      headers: [
        { name: 'Authorization', value: SECRET },
        { name: 'Accept', value: '*/*' },
      ],
      env: [
        ['API_KEY', SECRET],
        ['LANG', 'C'],
      ],
      pair: ['token', 'CNY'],
      account: { field: 'IBAN', value: 'DE89' },
      memo: SECRET,
    };
    expect(masked(args, ['IBAN']).args).toEqual({
      headers: [
        { name: 'Authorization', value: MASK },
        { name: 'Accept', value: '*/*' },
      ],
      env: [
        ['API_KEY', MASK],
        ['LANG', 'C'],
      ],
      pair: ['token', 'CNY'],
      account: { field: 'IBAN', value: MASK },
      memo: MASK,
    });
  });

  it('take globs over pointers and over names in whatever case', () => {
    const args = { bank: { branch: 'A', account: 'B' }, Account: 'C', accounts: 'D' };
    expect(masked(args, ['/bank/*']).masked).toEqual(['/bank/branch', '/bank/account']);
    expect(masked(args, ['account']).masked).toEqual(['/bank/account', '/Account']);
  });

  it('show in full the account to pay to, though it looks like a card, and what an agent calls a secret', () => {
    const args = { amount: '1', payee: '4111 1111 1111 1111', token: '4111 1111 1111 1111' };
    expect(masked(args).args).toEqual({ ...args, token: MASK });
  });

  it('keep a key named __proto__ as a key', () => {
    const { args } = masked(JSON.parse('{"__proto__": {"token": "abc"}, "x": 1}'));
    expect(JSON.stringify(args)).toBe(`{"__proto__":{"token":"${MASK}"},"x":1}`);
  });
});

describe.each(LOCALES)('a card in %s', (locale) => {
  const card = (
    changes: Parameters<typeof pendingRequest>[0],
    view?: 'decisive-only' | 'withheld',
    moved = false,
  ) =>
    cardOf({
      request: pendingRequest(changes),
      freeze: null,
      locale,
      timeZone: 'UTC',
      publicUrl: 'https://gate.acme.example',
      mask: createArgumentMask(['/bank/*']),
      ...(view && { view }),
      moved,
    });
  const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme', apiKey: SECRET, bank: { iban: 'DE89' } };

  it('says what it masks, holds none of it, and can approve', () => {
    const drawn = card({
      args: ARGS,
      decisiveFields: PAYMENT,
      summary: `I use ${SECRET} for this`,
      session: SECRET,
    });
    expect(JSON.stringify(drawn)).not.toContain(SECRET);
    expect(JSON.stringify(drawn)).not.toContain('DE89');
    expect(drawn.warnings.join()).toContain('apiKey, bank.iban');
    expect(drawn.actions).toMatchObject({ kind: 'decide', approvable: true });
  });

  it('shows no digest by which a short secret could be guessed', () => {
    const { apiKey, bank, ...open } = ARGS;
    expect(card({ args: { ...open, apiKey }, decisiveFields: PAYMENT }).digest).toBeNull();
    expect(card({ args: { ...open, bank }, decisiveFields: PAYMENT }).digest).toBeNull();
    expect(
      card({ args: { ...open, payee: 'Bearer abcdef0123456789' }, decisiveFields: PAYMENT }).digest,
    ).toBeNull();
    expect(card({ args: open, decisiveFields: PAYMENT }).digest?.value).toMatch(/^sha256:[0-9a-f]{12}…$/);
  });

  it('shows no secret that is a name, in a line of its own or inside what decides', () => {
    const key = 'sk-live-abcdefghijklmnop1234';
    const args = { [key]: 'x', pay: { [`Bearer ${key}`]: 1 }, more: { [key]: 2 } };
    const decisiveFields: readonly DecisiveField[] = [{ role: 'other', pointer: '/pay' }];
    const drawn = card({ args, decisiveFields });
    expect(JSON.stringify(drawn)).not.toContain(key);
    expect(drawn.lines.map(({ label, value }) => `${label}: ${value}`)).toEqual([
      `pay: {"Bearer ${MASK}":"${MASK}"}`,
      `${MASK}: ${MASK}`,
      `more.${MASK}: ${MASK}`,
    ]);
    expect(drawn.actions).toMatchObject({ approvable: false });
  });

  it('cannot approve where what decides would have to be masked', () => {
    const drawn = card({
      args: { ...ARGS, payee: 'Acme, Bearer abcdef0123456789' },
      decisiveFields: PAYMENT,
    });
    expect(JSON.stringify(drawn)).not.toContain('abcdef0123456789');
    expect(drawn.actions).toMatchObject({ kind: 'decide', approvable: false });
    const declared = [...PAYMENT, { role: 'other', pointer: '/apiKey' } as const];
    expect(card({ args: ARGS, decisiveFields: declared }).actions).toMatchObject({ approvable: false });
  });

  it('says nothing secret in the words of those who closed it', () => {
    const request = closedRequest({ status: 'rejected', by: LI_WEI, reason: 'password=hunter22 leaked' });
    const facts = { freeze: null, locale, timeZone: 'UTC', publicUrl: 'https://gate.acme.example' };
    expect(JSON.stringify(cardOf({ request, ...facts }))).not.toContain('hunter22');
  });

  it('that was refused shows what decides and no words of others, and still approves', () => {
    const drawn = card(
      { args: { ...ARGS, memo: 'call 13800138000' }, decisiveFields: PAYMENT, session: 's-1' },
      'decisive-only',
    );
    expect(drawn.lines.map(({ value }) => value)).toEqual(['68000.00', 'CNY', 'Acme']);
    expect(JSON.stringify(drawn)).not.toContain('13800138000');
    expect(drawn.summary).toBeNull();
    expect(drawn.facts.map(({ value }) => value).join()).not.toContain('s-1');
    expect(drawn.actions).toMatchObject({ approvable: true });
    expect(drawn.link).toMatch(/^https:/);
  });

  it('that was refused again shows no argument and cannot approve', () => {
    const drawn = card({ args: ARGS, decisiveFields: PAYMENT }, 'withheld');
    const text = JSON.stringify(drawn);
    for (const value of ['68000', 'CNY', 'Acme']) expect(text).not.toContain(value);
    expect(drawn.actions).toMatchObject({ kind: 'decide', approvable: false });
    expect(drawn.warnings).toHaveLength(1);
  });

  it('that has moved says so and has no buttons', () => {
    const drawn = card({ args: ARGS, decisiveFields: PAYMENT }, undefined, true);
    expect(drawn.actions).toEqual({ kind: 'none' });
    expect(drawn.title).toContain(locale === 'zh-CN' ? '卡片已移动' : 'This card has moved');
  });
});
