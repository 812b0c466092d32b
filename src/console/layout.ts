import type { Locale } from '../locale.ts';
import { CONSOLE_TEXTS } from './console-texts.ts';
import { type Content, type Html, html } from './html.ts';

export interface PageFrame {
  readonly locale: Locale;
  /** Address of the page itself, without the language. */
  readonly path: string;
  readonly title: string;
  /** Who is signed in; null: nobody. */
  readonly signedInAs: string | null;
}

/** A whole page around its content. No script runs on it. */
export function page({ locale, path, title, signedInAs }: PageFrame, content: Content): string {
  const texts = CONSOLE_TEXTS[locale];
  const other: Locale = locale === 'zh-CN' ? 'en-US' : 'zh-CN';
  return frame(
    locale,
    title,
    html`<header>
<span class="brand">Countersign</span>
<a href="${path}?lang=${other}" hreflang="${other}" lang="${other}">${texts.otherLanguage}</a>
${
  signedInAs !== null &&
  html`<span>${texts.signedInAs(signedInAs)}</span>
<form method="post" action="${path}/sign-out?lang=${locale}"><button>${texts.signOut}</button></form>`
}
</header>
<main>${content}</main>`,
  );
}

/** A page that goes on to `path` by itself: a step from our own page, which brings a strict cookie along. */
export function steppingStone({ locale, path }: Pick<PageFrame, 'locale' | 'path'>): string {
  const texts = CONSOLE_TEXTS[locale];
  return frame(
    locale,
    texts.title,
    html`<main><p><a href="${path}">${texts.goOn}</a></p></main>`,
    html`<meta http-equiv="refresh" content="0; url=${path}">`,
  );
}

const frame = (locale: Locale, title: string, body: Html, head: Content = null): string =>
  html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${head}
<title>${title} · Countersign</title>
<link rel="stylesheet" href="/console.css">
</head>
<body>
${body}
</body>
</html>
`.toString();
