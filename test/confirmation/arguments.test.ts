import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseArguments, parseJson } from '../../src/confirmation/arguments.ts';

const refusal = (text: string) => {
  const parsed = parseArguments(text);
  return parsed.kind === 'refused' ? parsed : null;
};

describe('arguments', () => {
  it('come through as they were sent', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false, maxDepth: 5 })),
        (value) => {
          const text = JSON.stringify(value);
          fc.pre(
            text.isWellFormed() &&
              !text.includes('\\u0000') &&
              !text.includes('__proto__') &&
              !text.includes('\\ud'),
          );
          fc.pre(!/\d{16}|e[+]?\d{2}/i.test(text));
          const parsed = parseArguments(text);
          expect(parsed).toEqual({ kind: 'parsed', value: JSON.parse(text) });
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['{"amount": 9007199254740993}', '/amount is 9007199254740993'],
    ['{"accountId": 2512292042121000001}', 'send it as a string'],
    ['{"a": {"b": [0.1000000000000000055]}}', '/a/b/0 is'],
    ['{"a": 1e400}', 'loses digits'],
    ['{"a": 1e21}', 'loses digits'],
    [`{"a": ${'9'.repeat(5000)}}`, 'loses digits'],
    ['{"a": "\\ud800"}', 'surrogate'],
    ['{"a": "x\\u0000y"}', 'NUL'],
    ['{"\\u0000": 1}', 'NUL'],
    ['{"__proto__": {"x": 1}}', '__proto__'],
    ['{"\\u005f_proto__": {"x": 1}}', '__proto__'],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'more than 64 levels'],
    [`{"a": "${'x'.repeat(256 * 1024)}"}`, 'bytes'],
  ])('are refused where they would not survive: %.60s', (text, message) => {
    expect(refusal(text)?.code).toBe('invalid_arguments');
    expect(refusal(text)?.message).toContain(message);
  });

  it.each([
    '{"a": 1, "a": 2}',
    '{"a": 1, "a": 1}',
    '{"x": {"a": "s", "\\u0061": "s"}}',
    '{"a": 1,}',
    '[1]',
    '"text"',
    '',
    '{',
    '{"a": NaN}',
    '{"a": Infinity}',
    '{"a": 01}',
    '{"a": 1} trailing',
    "{'a': 1}",
  ])('are refused as JSON: %s', (text) => {
    expect(refusal(text)?.code).toBe('invalid_json');
  });

  it('keep numbers that a double holds exactly', () => {
    const text = '{"a": 0.1, "b": -12.50, "c": 9007199254740991, "d": 1e3, "e": -0}';
    expect(parseArguments(text)).toEqual({
      kind: 'parsed',
      value: { a: 0.1, b: -12.5, c: 9007199254740991, d: 1000, e: -0 },
    });
  });

  it.each([
    ['{"a": [0, {"x": "y:,{[\\"", "k/~": 1e21}]}', '/a/1/k~1~0 is 1e21'],
    ['{"b": {"c": 1}, "a": {"x": [[], [1, 9007199254740993]]}}', '/a/x/1/1 is'],
    ['{"a": 100000000000000000000000000000e-10}', '/a is'],
  ])('name the number that would lose digits: %s', (text, message) => {
    expect(refusal(text)?.message).toContain(message);
  });

  it('keep long spellings of numbers that a double holds', () => {
    const text = '{"a": 1.2300000000000000000000, "b": 12300e-5, "c": 0.000000000000000000, "d": 0.1e0}';
    expect(parseArguments(text)).toEqual({ kind: 'parsed', value: { a: 1.23, b: 0.123, c: 0, d: 0.1 } });
  });

  it.each([
    ['zeros', '0'],
    ['decimals', '123456789.123456'],
    ['objects', '{}'],
    ['texts', '""'],
  ])('of a MiB of %s are refused within milliseconds', (_name, unit) => {
    const text = `{"a":[${`${unit},`.repeat(Math.floor(2 ** 20 / (unit.length + 1)))}${unit}]}`;
    const startedAt = performance.now();
    const parsed = parseJson(text, { maxDepth: 68 });
    // A second and more, before there was a limit.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(parsed).toMatchObject({ kind: 'refused', code: 'invalid_arguments' });
  });

  it('refuse exactly the numbers that a double would change', () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/);
    fc.assert(
      fc.property(fc.boolean(), digits, (negative, unsigned) => {
        const text = `${negative ? '-' : ''}${unsigned}`;
        const double = Number(text);
        const kept =
          Number.isFinite(double) &&
          (!Number.isInteger(double) || Number.isSafeInteger(double)) &&
          new Decimal(text).equals(new Decimal(String(double)));
        expect(parseArguments(`{"a": ${text}}`).kind).toBe(kept ? 'parsed' : 'refused');
      }),
      { numRuns: 2_000 },
    );
  });

  it('survive a hostile depth without overflowing a stack', () => {
    expect(refusal(`{"a":${'['.repeat(100_000)}`)?.message).toContain('levels deep');
    expect(parseJson(`{"a":${'['.repeat(60)}${']'.repeat(60)}}`, { maxDepth: 64 }).kind).toBe('parsed');
  });
});
