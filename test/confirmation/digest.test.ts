import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, verificationCodeOf } from '../../src/confirmation/digest.ts';
import { newConfirmationId } from '../../src/ids.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';

const call = (args: JsonObject) => ({
  organization: 'acme',
  tool: 'bank__transfer',
  toolVersion: null,
  args,
});
const someArgs = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<JsonObject>;

/** The same value with every object's members the other way round. */
function turned(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(turned);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  );
}

describe('the digest', () => {
  it('is the SHA-256 of the RFC 8785 form', () => {
    // echo -n '{"args":{"amount":"68000.00","payee":"Acme"},"organization":"acme","tool":"bank__transfer","toolVersion":null}' | sha256sum
    expect(digestOf(call({ payee: 'Acme', amount: '68000.00' }))).toBe(
      'sha256:fffe98f03c4460491035a9e7ab5e40b72d32f22f9acd632b112d78909713656f',
    );
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(someArgs, (args) => {
        expect(digestOf(call(turned(args) as JsonObject))).toBe(digestOf(call(args)));
      }),
    );
  });

  it('differs wherever a value differs', () => {
    fc.assert(
      fc.property(someArgs, someArgs, (one, other) => {
        const equal = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
        expect(digestOf(call(one)) === digestOf(call(other))).toBe(equal);
      }),
    );
  });

  it('tells apart what looks alike', () => {
    const alike: JsonObject[] = [
      { confirm: true },
      { confirm: 1 },
      { confirm: '1' },
      { confirm: 'true' },
      { confirm: null },
      {},
      { confirm: {} },
      { confirm: [] },
      { confirm: '' },
      { Confirm: true },
    ];
    expect(new Set(alike.map((args) => digestOf(call(args)))).size).toBe(alike.length);
    const base = call({ a: 1 });
    const others = [
      { ...base, organization: 'acme2' },
      { ...base, tool: 'bank__Transfer' },
      { ...base, toolVersion: 'sha256:1' },
    ];
    for (const other of others) expect(digestOf(other)).not.toBe(digestOf(base));
  });
});

describe('the verification code', () => {
  it('is eight characters of Crockford base32, the same for one request and digest', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), (argsDigest, key) => {
        const id = newConfirmationId();
        const code = verificationCodeOf({ id, argsDigest, key });
        expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
        expect(verificationCodeOf({ id, argsDigest, key })).toBe(code);
      }),
    );
  });

  it('is the first 40 bits of the HMAC', () => {
    const id = '01980000-0000-7000-8000-000000000000' as ReturnType<typeof newConfirmationId>;
    // printf '%s\nsha256:00' "$id" | openssl dgst -sha256 -hmac key → 7409b35df4…
    expect(verificationCodeOf({ id, argsDigest: 'sha256:00', key: 'key' })).toBe('EG4V6QFM');
  });
});

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return Object.is(value, -0) ? 0 : value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}
