import { LOCALES, type Locale } from '../locale.ts';

/** The language of a page: what the link asks for, else the first that the browser prefers, else the service's own. */
export function pageLocale({
  asked,
  acceptLanguage,
  fallback,
}: {
  readonly asked: string | undefined;
  readonly acceptLanguage: string | undefined;
  readonly fallback: Locale;
}): Locale {
  return localeOf(asked ?? '') ?? preferred(acceptLanguage ?? '') ?? fallback;
}

function preferred(acceptLanguage: string): Locale | null {
  const wishes = acceptLanguage
    .slice(0, 500)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().split(';');
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      return { locale: localeOf(tag), quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((left, right) => right.quality - left.quality);
  return wishes.find(({ locale }) => locale !== null)?.locale ?? null;
}

const localeOf = (tag: string): Locale | null =>
  LOCALES.find((locale) => locale.slice(0, 2) === tag.slice(0, 2).toLowerCase()) ?? null;
