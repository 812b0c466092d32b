import type { Locale } from '../locale.ts';
import { CONSOLE_TEXTS } from './console-texts.ts';
import { html } from './html.ts';
import { page } from './layout.ts';

/** Where somebody gets who opens the service itself: what it is, and where the pages of requests are. */
export function homePage(locale: Locale): string {
  const texts = CONSOLE_TEXTS[locale].home;
  return page(
    { locale, path: '/', title: texts.title, signedInAs: null },
    html`<section>
<h1>${texts.title}</h1>
<p>${texts.about}</p>
<p>${texts.requests}</p>
<p><a href="/docs">${texts.docs}</a></p>
</section>`,
  );
}

/** The same for a program. */
export const HOME_LINKS = {
  name: 'Countersign',
  links: { documentation: '/docs', openapi: '/openapi.json', health: '/healthz' },
} as const;
