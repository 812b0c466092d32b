import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutText } from '../../src/channel/cut-text.ts';
import { visibleText } from '../../src/channel/visible-text.ts';

/** Undoes `visibleText`; only a test needs to. */
const decode = (visible: string): string =>
  visible
    .replaceAll('⏎', '\n')
    .replace(/⟨U\+([0-9A-F]{4,6})⟩/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));

const hostile = fc.constantFrom(
  ...[
    '\u202E',
    '\u2066',
    '\u200B',
    '\u200D',
    '\uFE0F',
    '\uFEFF',
    '\u{E0100}',
    '\u{E0041}',
    '\u00A0',
    '\u2028',
  ],
  ...[
    '\u0000',
    '\u001B[31m',
    '\r',
    '\t',
    '\n',
    '\uD800',
    '\uDC00',
    '\u00AD',
    '\u3164',
    '\u2800',
    '⏎',
    '⟨',
    '⟨U+0041⟩',
  ],
  ...['👨‍👩‍👧', '❤️', '1️⃣', '🇨🇳', '👍🏽', '𠮷', '审批', 'a', ' ', '\u3000', 'U+', '"', '\\'],
);
// biome-ignore lint/complexity/useRegexLiterals: a literal with this flag needs a newer compile target.
const emoji = new RegExp(String.raw`^\p{RGI_Emoji}$`, 'v');
const characters = new Intl.Segmenter('und', { granularity: 'grapheme' });
const anyText = fc.oneof(
  fc.array(hostile, { maxLength: 30 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 60 }),
);

describe('visible text', () => {
  it.each([
    ['Acme\u200B Ltd', 'Acme⟨U+200B⟩ Ltd'],
    ['abc\u202Efdp.exe', 'abc⟨U+202E⟩fdp.exe'],
    ['a\u2066b\u2069', 'a⟨U+2066⟩b⟨U+2069⟩'],
    ['\uFEFFpay', '⟨U+FEFF⟩pay'],
    ['pay\u{E0100}', 'pay⟨U+E0100⟩'],
    ['pay\u{E0041}', 'pay⟨U+E0041⟩'],
    ['a\u00A0\u00A0b', 'a⟨U+00A0⟩⟨U+00A0⟩b'],
    ['\u001B[31mred', '⟨U+001B⟩[31mred'],
    ['a\rb', 'a⟨U+000D⟩b'],
    ['a\u2028b', 'a⟨U+2028⟩b'],
    ['\uD83D', '⟨U+D83D⟩'],
    ['a\u200Db', 'a⟨U+200D⟩b'],
    ['1\uFE0F0', '1⟨U+FE0F⟩0'],
    ['6\u03368\u0338000', '6⟨U+0336⟩8⟨U+0338⟩000'],
    ['a\u20DD 1\u20E3', 'a⟨U+20DD⟩ 1⟨U+20E3⟩'],
    [`a${'\u0301'.repeat(6)}`, `a${'\u0301'.repeat(4)}⟨U+0301⟩⟨U+0301⟩`],
    ['\u0301x', '⟨U+0301⟩x'],
    ['pay\u{1FFFD}\u{1F0C0}', 'pay⟨U+1FFFD⟩⟨U+1F0C0⟩'],
    ['👍\u200D\u{1FFFD}', '👍⟨U+200D⟩⟨U+1FFFD⟩'],
    ['6\u200D8', '6⟨U+200D⟩8'],
    ['👍\u200D1', '👍⟨U+200D⟩1'],
    ['🅰\u200D🅱', '🅰⟨U+200D⟩🅱'],
    ['😀\u200D😀', '😀⟨U+200D⟩😀'],
    ['👨\u200D👩\u200D👧\u200D😀', '👨⟨U+200D⟩👩⟨U+200D⟩👧⟨U+200D⟩😀'],
    ['👍\uFE0F', '👍⟨U+FE0F⟩'],
  ])('writes out what cannot be seen in %j', (hidden, shown) => {
    expect(visibleText(hidden)).toEqual({ text: shown, changed: true });
  });

  it.each([
    '上海供应商有限公司',
    '68000.00',
    '👨‍👩‍👧 ❤️ 👍🏽 1️⃣ 🇨🇳 🏳️‍🌈 👩🏽‍💻 ©️ 👁️‍🗨️',
    '𠮷野家',
    'a_b*c#1|[x](y) \\ 50% <at id=all></at>',
    '「」\u3000x',
    'tiếng Việt, שָׁלוֹם, ภาษาที่, हिन्दी',
  ])('leaves %s as it is', (text) => {
    expect(visibleText(text)).toEqual({ text, changed: false });
  });

  it('marks a line feed without calling it hidden', () => {
    expect(visibleText('one\ntwo')).toEqual({ text: 'one⏎two', changed: false });
  });

  it('drops nothing: the text can be had back from what is shown', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(decode(visibleText(text).text)).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  it('shows nothing that is hidden, and nothing that is malformed, outside an emoji', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = visibleText(text).text;
        expect(shown).not.toMatch(/\p{Cs}/u);
        expect(shown).not.toMatch(
          /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u200B\uFEFF\u00A0\u{E0000}-\u{E0FFF}]/u,
        );
        for (const { segment } of characters.segment(shown))
          if (!emoji.test(segment)) expect(segment).not.toMatch(/\p{Default_Ignorable_Code_Point}/u);
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes linear time on 64 KiB of hostile text', () => {
    const startedAt = performance.now();
    for (const unit of ['\u200D', '\u202E', '😀\u200D', '⟨U+', '审a'])
      visibleText(unit.repeat(65_536 / unit.length));
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });
});

describe('cut text', () => {
  it('never cuts through an emoji, a surrogate pair or an escape, wherever the limit falls', () => {
    const text = visibleText(`ab😀👨‍👩‍👧𠮷\u202E❤️c\u{E0100}`).text;
    const whole = ['a', 'b', '😀', '👨‍👩‍👧', '𠮷', '⟨U+202E⟩', '❤️', 'c', '⟨U+E0100⟩'];
    const starts = whole.map((_, index) => whole.slice(0, index).join('')).concat(text);
    for (let limit = 0; limit <= text.length; limit += 1) {
      const cut = cutText(text, limit);
      expect(cut.text.length).toBeLessThanOrEqual(limit);
      expect(cut.text).not.toMatch(/\p{Cs}/u);
      expect(starts).toContain(cut.text);
      expect(cut.missing).toBe(text.length - cut.text.length);
    }
  });
});
