import { describe, expect, it } from 'vitest';
import { cutToFit, shortenToFit } from '../../src/channel/cut-to-fit.ts';
import { LOCALES } from '../../src/locale.ts';

const within = (limit: number) => (text: string) => text.length <= limit;
const missingIn = (text: string): number =>
  Number(/([\d,]+) (?:more|个)/.exec(text)?.[1]?.replaceAll(',', ''));

describe.each(LOCALES)('a text that is too long, in %s', (locale) => {
  it('is cut to the limit with a mark that counts what is missing', () => {
    const cut = cutToFit('a'.repeat(5_000), locale, within(200));
    expect(cut.length).toBeLessThanOrEqual(200);
    const kept = /^a+/.exec(cut)?.[0].length ?? 0;
    expect(kept).toBeGreaterThan(100);
    expect(missingIn(cut)).toBe(5_000 - kept);
  });

  it('is cut again with one mark, which counts what both cuts took', () => {
    const once = cutToFit('a'.repeat(5_000), locale, within(500));
    const twice = cutToFit(once, locale, within(200));
    expect(twice).toBe(cutToFit('a'.repeat(5_000), locale, within(200)));
  });

  it('that fits stays as it is, and one without room for a mark is left out', () => {
    expect(cutToFit('abc', locale, within(3))).toBe('abc');
    expect(cutToFit('a'.repeat(50), locale, within(5))).toBe('');
  });
});

it('a label is shortened with a dot dot dot, between characters', () => {
  expect(shortenToFit('ab👨‍👩‍👧cd', within(8))).toBe('ab…');
  expect(shortenToFit('abcd', within(4))).toBe('abcd');
});
