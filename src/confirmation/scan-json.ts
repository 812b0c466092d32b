/** What one pass over a text shows of its structure, whether it is JSON or not. */
export interface JsonScan {
  readonly depth: number;
  /** Members of all objects, repeated keys included. */
  readonly members: number;
  /** Values of every kind, objects and arrays included; never less than there are. */
  readonly values: number;
  /** Where the first number stands that a double would change; null where there is none. */
  readonly lossyNumberAt: number | null;
}

/**
 * Reads the structure without building anything: a few milliseconds for a MiB, no recursion, and it stops at the
 * first of the two limits that is passed, so that a hostile text costs its sender more than us.
 */
export function scanJson(
  text: string,
  limits: { readonly depth: number; readonly values: number },
): JsonScan {
  let level = 0;
  let depth = 0;
  let members = 0;
  let values = 1;
  let lossyNumberAt: number | null = null;
  for (let at = 0; at < text.length && depth <= limits.depth && values <= limits.values; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        level += 1;
        values += 1;
        depth = Math.max(depth, level);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        level -= 1;
        break;
      case COMMA:
        values += 1;
        break;
      case COLON:
        members += 1;
        break;
      default: {
        if (!isNumeric(text.charCodeAt(at))) break;
        const end = endOfNumber(text, at);
        if (lossyNumberAt === null && !survivesDouble(text.slice(at, end))) lossyNumberAt = at;
        at = end - 1;
      }
    }
  }
  return { depth, members, values, lossyNumberAt };
}

/** The number that begins at `at`, as it is written. */
export const numberAt = (text: string, at: number): string => text.slice(at, endOfNumber(text, at));

/** Where the string that begins at `at` has its closing quote; the last character where it has none. */
export function endOfString(text: string, at: number): number {
  for (let index = at + 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) return index;
    if (code === BACKSLASH) index += 1;
  }
  return text.length - 1;
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [ZERO, NINE, MINUS, PLUS, POINT, UPPER_E, LOWER_E] = [0x30, 0x39, 0x2d, 0x2b, 0x2e, 0x45, 0x65];

const isNumeric = (code: number): boolean => code === MINUS || (code >= ZERO && code <= NINE);

function endOfNumber(text: string, at: number): number {
  let end = at + 1;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (!isNumeric(code) && code !== POINT && code !== PLUS && code !== UPPER_E && code !== LOWER_E) break;
  }
  return end;
}

/** Longer digit strings are refused unread: nothing a double can hold needs them. */
const LONGEST_NUMBER = 400;
/** A decimal number of at most 15 digits comes back from a double as it was. */
const ALWAYS_EXACT = 15;

/** Whether the number means after a double what it meant before: `12.50` does, `9007199254740993` and `1e21` do not. */
function survivesDouble(text: string): boolean {
  if (text.length <= ALWAYS_EXACT && !/[eE]/.test(text)) return true;
  const value = Number(text);
  // What is no number at all is the parser's to refuse.
  if (Number.isNaN(value)) return true;
  if (!Number.isFinite(value) || text.length > LONGEST_NUMBER) return false;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  return normalized(text) === normalized(String(value));
}

/** One spelling for one number: its digits without zeros at either end, and the power of ten. */
function normalized(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
