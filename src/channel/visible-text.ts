export interface VisibleText {
  /** One line in which every character can be seen. */
  readonly text: string;
  /** True where something that cannot be seen, or that reorders its neighbours, was written out. */
  readonly changed: boolean;
}

/**
 * Writes out whatever a reader could not see: control characters, ANSI escapes, bidi controls, zero-width and tag
 * characters, variation selectors, no-break and other odd spaces, private and unassigned code points, lone
 * surrogates, and marks that strike through, enclose or bury the letters around them. Each becomes `⟨U+202E⟩`; a line feed becomes `⏎`, so that a value can never draw a line of its own.
 * Nothing is dropped and no two texts look alike: the two marks themselves, where they occur, are written out too.
 * Joiners and variation selectors stay inside an emoji that would not be the same picture without them.
 */
export function visibleText(text: string): VisibleText {
  let changed = false;
  const visible = text.replace(EMOJI_OR_HIDDEN, (match, emoji: string | undefined) => {
    if (emoji !== undefined) {
      if (emoji.search(INSIDE_EMOJI) < 0 || PICTURE.test(emoji)) return emoji;
      changed = true;
      return emoji.replace(INSIDE_EMOJI, escapeOf);
    }
    if (match === '\n') return LINE_FEED_MARK;
    if (!MARKS.test(match)) changed = true;
    return escapeOf(match);
  });
  return { text: visible, changed };
}

const LINE_FEED_MARK = '⏎';
const MARKS = /^[⏎⟨]$/u;

/**
 * What may be one picture: pictographs with their modifiers and joiners, and keycaps; what hides outside of them is
 * caught by the rest. Code points that are only reserved for pictographs have no picture yet, and all look the same.
 */
const EMOJI =
  /(?!\p{Cn})\p{ExtPict}(?:\p{EMod}|\uFE0F)?(?:\u200D(?!\p{Cn})\p{ExtPict}(?:\p{EMod}|\uFE0F)?)*|[0-9#*]\uFE0F\u20E3/u;

/** Joiner and variation selector. */
const INSIDE_EMOJI = /[\u200D\uFE0F]/gu;

/**
 * Of those with something invisible inside, the ones that Unicode recommends: they have a picture of their own. Two
 * pictographs that make none together look the same with a joiner between them and without.
 */
// biome-ignore lint/complexity/useRegexLiterals: a literal with this flag needs a newer compile target.
const PICTURE = new RegExp(
  String.raw`^(?:\p{RGI_Emoji_ZWJ_Sequence}|\p{Basic_Emoji}|\p{Emoji_Keycap_Sequence})$`,
  'v',
);

/**
 * U+2800 is a blank braille cell. Of the spaces only U+0020 and the ideographic one, which Chinese text uses and
 * which is plainly wide, stay. `⟨` is written out only where it would read as one of our own escapes.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{DI}\u00A0\u1680\u2000-\u200A\u202F\u205F\u2800⏎]|⟨(?=U\+)/u;

/** Overlays (combining class 1) and enclosing marks, a mark with no letter before it, and more of them than a script stacks. */
const BURYING =
  /[\u0334-\u0338\u20D2\u20D3\u20D8-\u20DA\u20E5\u20E6\u20EA\u20EB\p{Me}]|^\p{M}|(?<=\p{M}{4})\p{M}/u;

const EMOJI_OR_HIDDEN = new RegExp(`(${EMOJI.source})|${HIDDEN.source}|${BURYING.source}`, 'gu');

const escapeOf = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
