/**
 * The start of `text` within `maxLength` UTF-16 units, cut between two characters as a reader counts them (never
 * inside an emoji, a surrogate pair or one of the `⟨U+…⟩` escapes of `visibleText`), and how many units are missing.
 * Only for what does not decide: decisive fields are never cut.
 */
export function cutText(
  text: string,
  maxLength: number,
): { readonly text: string; readonly missing: number } {
  if (text.length <= maxLength) return { text, missing: 0 };
  // One character more than fits, so that the last one that fits is known to be whole.
  const window = text.slice(0, maxLength + LONGEST_CHARACTER);
  let end = 0;
  for (const { index, segment } of segmenter.segment(window)) {
    if (index + segment.length > maxLength) break;
    end = index + segment.length;
  }
  const openEscape = text.slice(0, end).match(/⟨(?:U(?:\+[0-9A-F]{0,6})?)?$/u);
  if (openEscape && /^⟨U\+[0-9A-F]{4,6}⟩/u.test(text.slice(openEscape.index))) end = openEscape.index ?? end;
  return { text: text.slice(0, end), missing: text.length - end };
}

const LONGEST_CHARACTER = 64;
const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
