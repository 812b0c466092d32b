/** A lone half of a surrogate pair, which no UTF-8 text can hold. */
const LONE_SURROGATE = /\p{Surrogate}/gu;
const REPLACEMENT = '\ufffd';

/**
 * The text as PostgreSQL can hold it: NUL and lone surrogates, which it refuses, become U+FFFD. For text from models
 * and tools, which has to be recorded whatever it holds; arguments with such characters were refused before.
 */
export const storableText = (text: string): string =>
  text.replaceAll('\0', REPLACEMENT).replace(LONE_SURROGATE, REPLACEMENT);

/** The same for every string, and every key, inside a JSON value. */
export function storableJson<T>(value: T): T {
  if (typeof value === 'string') return storableText(value) as T;
  if (Array.isArray(value)) return value.map((item) => storableJson(item)) as T;
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [storableText(key), storableJson(item)]),
    ) as T;
  }
  return value;
}
