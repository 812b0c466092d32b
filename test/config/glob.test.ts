import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, compileGlobs, globsOverlap } from '../../src/glob.ts';

describe('a glob over names of tools', () => {
  it.each([
    ['oa__*', 'oa__purchase_pay', true],
    ['oa__*', 'oa__', true],
    ['oa__*', 'bank__pay', false],
    ['*__pay', 'bank__pay', true],
    ['*pay*', 'oa__purchase_pay_now', true],
    ['a*b*c', 'a__b__c', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['*', '', true],
    ['OA__*', 'oa__pay', false],
    ['oa__p.y', 'oa__pay', false],
    ['oa__[a-z]*', 'oa__pay', false],
    ['oa__pay', 'oa__pay', true],
    ['oa__pay', 'oa__pay_all', false],
  ])('%s against %s is %s', (pattern, name, expected) => {
    expect(compileGlob(pattern).matches(name)).toBe(expected);
  });

  it('agrees with the plain definition of a glob on any pattern and name', () => {
    const plain = (pattern: string, name: string): boolean => {
      const [first = '', ...rest] = pattern;
      if (pattern === '') return name === '';
      if (first !== '*') return name.startsWith(first) && plain(rest.join(''), name.slice(1));
      return plain(rest.join(''), name) || (name !== '' && plain(pattern, name.slice(1)));
    };
    const letters = fc.constantFrom('a', 'b');
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 7 }),
        fc.string({ unit: letters, maxLength: 8 }),
        (pattern, name) => compileGlob(pattern).matches(name) === plain(pattern, name),
      ),
      { numRuns: 3_000 },
    );
  });

  it('takes linear time where backtracking would take for ever', () => {
    const glob = compileGlob(`${'*a'.repeat(100)}*b`);
    const name = 'a'.repeat(100_000);
    const start = performance.now();
    expect(glob.matches(name)).toBe(false);
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  it('tests several patterns at once', () => {
    const matches = compileGlobs(['oa__*', 'bank__pay']);
    expect([matches('oa__x'), matches('bank__pay'), matches('bank__refund')]).toEqual([true, true, false]);
    expect(compileGlobs([])('anything')).toBe(false);
  });
});

describe('the overlap of two globs', () => {
  it.each([
    ['bank__*', 'bank__*', true],
    ['bank__*', '*__pay', true],
    ['bank__*', 'oa__*', false],
    ['bank__pay', 'bank__*', true],
    ['*', 'anything', true],
    ['a*c', 'ab*', true],
    ['a*c', '*b', false],
    ['refnd', 'refund', false],
  ])('of %s and %s is %s', (one, other, expected) => {
    expect(globsOverlap(one, other)).toBe(expected);
    expect(globsOverlap(other, one)).toBe(expected);
  });

  it('is found whenever a name matches both', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 5 });
    const names = ['', ...'a b aa ab ba bb aaa aab aba abb baa bab bba bbb aabb abab'.split(' ')];
    fc.assert(
      fc.property(pattern, pattern, (one, other) => {
        const [a, b] = [compileGlob(one), compileGlob(other)];
        if (names.some((name) => a.matches(name) && b.matches(name)))
          expect(globsOverlap(one, other)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
