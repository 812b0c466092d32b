import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { storableData } from '../../src/audit/storable-data.ts';
import { parseStoredJson } from '../../src/audit/stored-json.ts';
import type { JsonObject } from '../../src/json.ts';

const anyObject = fc.dictionary(
  fc.string({ unit: 'binary' }),
  fc.jsonValue({ stringUnit: 'binary' }),
) as fc.Arbitrary<JsonObject>;

describe('storable data', () => {
  it('never holds what JSONB refuses, and reads back as it was made', () => {
    fc.assert(
      fc.property(anyObject, (data) => {
        const text = JSON.stringify(storableData(data));
        expect(text).not.toMatch(/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/);
        expect(parseStoredJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('leaves alone what can be stored', () => {
    const data = { text: '金额 😀 \\u0000 literally', list: [1, null, true, { deep: [] }], '': '' };
    expect(storableData(data)).toEqual(data);
  });

  it('is bounded in depth, in members and in length, and says what it left out', () => {
    let deep: JsonObject = { bottom: true };
    for (let level = 0; level < 10_000; level += 1) deep = { deep };
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]));
    const long = Array.from({ length: 100 }, () => 'x'.repeat(8_000));
    for (const data of [deep, { wide }, { long }]) {
      const text = JSON.stringify(storableData(data));
      expect(text.length).toBeLessThan(200_000);
      expect(text).toMatch(/left out|more characters/);
    }
  });
});

describe('stored JSON', () => {
  it('takes every double as the database prints it, and no number with further digits', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        fc.pre(number !== 0);
        const printed = new Decimal(number).toFixed();
        expect(parseStoredJson(`{"n": [${printed}]}`)).toEqual({ n: [Number(printed)] });
        const further = `${printed.includes('.') ? printed : `${printed}.`}${'0'.repeat(20)}1`;
        expect(parseStoredJson(`{"n": ${further}}`)).toBeNull();
      }),
    );
  });

  it('does not take digits inside strings for numbers', () => {
    const text = '{"0.10000000000000000001": "\\"9007199254740993, 1e999\\\\"}';
    expect(parseStoredJson(text)).toEqual(JSON.parse(text));
  });

  it.each(['[]', 'null', '1', '"text"', '{"a":', ''])('refuses %j, which is no object', (text) => {
    expect(parseStoredJson(text)).toBeNull();
  });
});
