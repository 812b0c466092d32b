import type { JsonObject, JsonValue } from '../../src/json.ts';
import type { Locale } from '../../src/locale.ts';

/** A whole card, drawn in one language. */
export interface DrawnIn {
  readonly locale: Locale;
  readonly drawn: JsonObject;
}

/**
 * One card out of drawings that differ in their words alone: a text that reads differently carries each language as
 * `i18n_content` (open.feishu.cn, "Plain text"), which the person's client picks from; `content` stays `own`'s, for
 * every other language. A text that reads the same stands there once. Null where the drawings differ in more than
 * words, because a text must never stand in another's place.
 */
export function inEveryLanguage(own: DrawnIn, others: readonly DrawnIn[]): JsonObject | null {
  const merged = merge(
    own.drawn,
    others.map(({ drawn }) => drawn),
    [own, ...others].map(({ locale }) => LANGUAGES[locale]),
  );
  return isObject(merged) ? merged : null;
}

const LANGUAGES: Readonly<Record<Locale, string>> = { 'zh-CN': 'zh_cn', 'en-US': 'en_us' };

/** `undefined` where the values do not match. */
function merge(
  own: JsonValue,
  others: readonly JsonValue[],
  languages: readonly string[],
): JsonValue | undefined {
  if (Array.isArray(own)) {
    const items: JsonValue[] = [];
    if (!others.every((other) => Array.isArray(other) && other.length === own.length)) return undefined;
    for (const [at, item] of own.entries()) {
      const counterparts = others.map((other) => (Array.isArray(other) ? other[at] : undefined));
      const merged = mergeAll(item, counterparts, languages);
      if (merged === undefined) return undefined;
      items.push(merged);
    }
    return items;
  }
  if (isObject(own)) return mergeObject(own, others, languages);
  return others.every((other) => other === own) ? own : undefined;
}

function mergeObject(
  own: JsonObject,
  others: readonly JsonValue[],
  languages: readonly string[],
): JsonObject | undefined {
  const objects = others.filter(isObject);
  const keys = Object.keys(own);
  if (objects.length < others.length) return undefined;
  if (objects.some((other) => Object.keys(other).length !== keys.length)) return undefined;
  const result: Record<string, JsonValue> = {};
  for (const key of keys) {
    const counterparts = objects.map((other) => other[key]);
    if (own.tag === 'plain_text' && key === 'content') {
      const texts = [own.content, ...counterparts];
      if (!texts.every((text) => typeof text === 'string')) return undefined;
      result.content = texts[0] ?? '';
      if (new Set(texts).size > 1)
        result.i18n_content = Object.fromEntries(
          languages.map((language, at) => [language, texts[at] ?? '']),
        );
      continue;
    }
    const merged = mergeAll(own[key], counterparts, languages);
    if (merged === undefined) return undefined;
    result[key] = merged;
  }
  return result;
}

const mergeAll = (
  own: JsonValue | undefined,
  others: readonly (JsonValue | undefined)[],
  languages: readonly string[],
): JsonValue | undefined => {
  const present = others.filter((other) => other !== undefined);
  return own === undefined || present.length < others.length ? undefined : merge(own, present, languages);
};

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
