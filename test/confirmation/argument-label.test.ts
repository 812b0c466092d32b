import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentLabel } from '../../src/confirmation/argument-label.ts';
import { leavesOf } from '../../src/confirmation/json-pointer.ts';
import type { JsonObject } from '../../src/json.ts';

const AMOUNT = [{ role: 'amount', pointer: '/payment/total' }] as const;

describe('the label of an argument', () => {
  it.each([
    ['/memo', 'memo'],
    ['/items/0/sku', 'items[0].sku'],
    ['/bank_account', 'bank_account'],
    ['/payment/amount', 'payment.amount'],
    ['/amount', 'amount'],
  ])('of %s is the name %s', (pointer, label) => {
    expect(argumentLabel(pointer, [])).toBe(label);
  });

  it.each(['/金额', '/Аmount', '/a b', '/a.b', '/a~1b', '/', '//x', '/x/', '/0/x', '/memo/b]', '/a/\u202Eb'])(
    'stays a JSON Pointer where a key is no plain name: %j',
    (pointer) => {
      expect(argumentLabel(pointer, [])).toBe(pointer);
    },
  );

  it.each(['/Amount', '/amount', '/policy', '/Approvals', '/tool', '/reason', '/Result/x'])(
    'stays a JSON Pointer where it would read like a line of the card: %s',
    (pointer) => {
      expect(argumentLabel(pointer, AMOUNT)).toBe(pointer);
    },
  );

  it('is another for any two arguments of one call', () => {
    const key = fc.oneof(fc.string(), fc.constantFrom('a', 'b', '0', 'a.b', 'a[0]', '[0]', '/a'));
    const value = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        fc.constant(1),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    })).tree;
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 5 }), (values) => {
        const args = JSON.parse(JSON.stringify(values)) as JsonObject;
        const labels = [...leavesOf(args)].map(([pointer]) => argumentLabel(pointer, []));
        expect(new Set(labels).size).toBe(labels.length);
      }),
    );
  });
});
